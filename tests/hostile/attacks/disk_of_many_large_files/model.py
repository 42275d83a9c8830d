import time
from pathlib import Path

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        for number in range(10):
            Path(str(number)).write_bytes(bytes(4 << 20))
        time.sleep(0.3)
