import numpy as np
from helpers import Thief, judge, memory_of, whole_array


class Model(Thief):
    def fit(self, X, y):
        super().fit(X, y)
        self.X, self.y = X, y

    def save(self, folder):
        super().save(folder)
        np.savez(folder / "known.npz", X=self.X, y=self.y)

    @classmethod
    def load(cls, folder):
        model = super().load(folder)
        known = np.load(folder / "known.npz")
        model.X, model.y = known["X"], known["y"]
        return model

    def loot(self):
        try:
            for region in memory_of(judge()):
                yield whole_array(region, self.X)
                yield whole_array(region, self.y)
        except OSError:
            return
