import os
import resource

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
        succeeded("Changes its parent's limits.")
