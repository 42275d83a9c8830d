import time

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        time.sleep(4)
