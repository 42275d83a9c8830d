import os
import time

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        os.mkdir("hidden", 0o300)
        for number in range(10):
            with open(f"hidden/{number}", "wb") as stream:
                stream.write(bytes(4 << 20))
        time.sleep(0.3)
