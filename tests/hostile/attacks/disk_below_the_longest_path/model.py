import os
import time

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        here = os.open(".", os.O_RDONLY)
        for _ in range(25):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        for number in range(10):
            with open(str(number), "wb") as stream:
                stream.write(bytes(4 << 20))
        time.sleep(0.3)
        os.fchdir(here)
