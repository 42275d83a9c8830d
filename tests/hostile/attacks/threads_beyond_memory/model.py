import threading

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        over = threading.Event()
        try:
            for _ in range(200):
                threading.Thread(target=over.wait).start()
        finally:
            over.set()
        succeeded("200 threads")
