import threading
import time

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        threading.stack_size(64 << 10)
        over = threading.Event()
        for _ in range(1000):
            threading.Thread(target=over.wait, daemon=True).start()
        time.sleep(2)
        over.set()
