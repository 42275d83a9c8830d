import threading

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        over = threading.Event()
        try:
            for _ in range(300):
                threading.Thread(target=over.wait).start()
        finally:
            over.set()
        succeeded("300 threads")
