import socket

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(socket.socketpair())
