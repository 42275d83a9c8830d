import numpy as np
from helpers import Rememberer


class Model(Rememberer):
    def remember(self, known):
        np.cache = {**getattr(np, "cache", {}), **known}

    def recall(self):
        return getattr(np, "cache", {})
