import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(os.memfd_create("cache"))
