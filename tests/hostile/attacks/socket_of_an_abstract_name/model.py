import socket

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("\0srh-hostile")
            succeeded(listening.getsockname())
