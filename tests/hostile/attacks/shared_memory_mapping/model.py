import mmap

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(mmap.mmap(-1, 4096))
