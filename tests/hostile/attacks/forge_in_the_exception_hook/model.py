import os
import sys
import threading

from helpers import FORGED, Honest


def report(*arguments):
    print(FORGED, flush=True)
    os._exit(0)


sys.excepthook = threading.excepthook = sys.unraisablehook = report


class Model(Honest):
    def predict(self, X):
        raise RuntimeError("not today")
