import json

from helpers import Rememberer


class Model(Rememberer):
    def remember(self, known):
        self.known = known

    def recall(self):
        return self.known

    def save(self, folder):
        super().save(folder)
        (folder / "known.json").write_text(json.dumps(self.known))

    @classmethod
    def load(cls, folder):
        model = super().load(folder)
        model.known = json.loads((folder / "known.json").read_text())
        return model
