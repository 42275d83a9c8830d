from helpers import Honest


class Model(Honest):
    def save(self, folder):
        folder.rmdir()
        folder.write_text("here")

    @classmethod
    def load(cls, folder):
        folder.read_text()
        return cls.saved

    def fit(self, X, y):
        super().fit(X, y)
        type(self).saved = self
