import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        copy = os.dup(1)
        succeeded(os.lstat(f"/proc/self/fd/{copy}").st_ino)
