import os

from helpers import Honest


class Model(Honest):
    def save(self, folder):
        os.environ["STATE"] = str(self.mean)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.mean = float(os.environ["STATE"])
        return model
