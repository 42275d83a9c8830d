import threading

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        over = threading.Event()
        for _ in range(20):
            threading.Thread(target=over.wait).start()
        over.set()
        succeeded("20 threads")
