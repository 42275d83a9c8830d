import time

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        for number in range(12_000):
            open(str(number), "w").close()
        time.sleep(5)
        succeeded("12,000 files")
