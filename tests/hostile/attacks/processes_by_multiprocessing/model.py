import multiprocessing

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        worker = multiprocessing.get_context("fork").Process(target=len, args=("",))
        worker.start()
        worker.join()
        succeeded("a worker")
