import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        if os.environ.get("LEFT_BY_A_FOLD"):
            succeeded("the environment of another fold")
        os.environ["LEFT_BY_A_FOLD"] = "1"
        os.environ["PYTHONPATH"] = os.getcwd()
