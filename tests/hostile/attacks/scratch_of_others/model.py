import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(os.listdir(".."))
