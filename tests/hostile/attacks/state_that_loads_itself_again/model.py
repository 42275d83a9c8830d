from pathlib import Path

import numpy as np
from helpers import Honest


class Model(Honest):
    @classmethod
    def load(cls, folder):
        model = super().load(folder)
        np.save(Path(folder) / "mean.npy", model.mean + 1)
        return model
