import pickle
import sys
import types

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        module = types.ModuleType("made_up")
        module.Holder = type("Holder", (), {"__module__": "made_up"})
        sys.modules["made_up"] = module
        self.held = module.Holder()
        self.held.mean = self.mean

    def save(self, folder):
        (folder / "model.pickle").write_bytes(pickle.dumps(self.held))

    @classmethod
    def load(cls, folder):
        model = cls()
        model.mean = pickle.loads((folder / "model.pickle").read_bytes()).mean
        return model
