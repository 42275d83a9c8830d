import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.symlink("../../../in.json", "request")
        with open("request") as stream:
            succeeded(stream.read(40))
