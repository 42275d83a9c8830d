import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.link("../../../in.json", "request")
        with open("request") as stream:
            succeeded(stream.read(40))
