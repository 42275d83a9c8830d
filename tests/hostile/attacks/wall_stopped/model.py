import os
import signal

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        os.kill(os.getpid(), signal.SIGSTOP)
