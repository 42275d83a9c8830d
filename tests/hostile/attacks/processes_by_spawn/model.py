import os
import sys

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        child = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", ""], {})
        succeeded(os.waitpid(child, 0))
