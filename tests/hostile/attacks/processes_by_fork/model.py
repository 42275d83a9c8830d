import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        succeeded("a child")
