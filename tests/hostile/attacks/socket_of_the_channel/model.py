import os
import socket
import stat

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        for descriptor in [0, 1, 2, *range(3, 256)]:
            try:
                mode = os.fstat(descriptor).st_mode
            except OSError:
                continue
            if stat.S_ISSOCK(mode):
                socket.socket(fileno=os.dup(descriptor)).getpeername()
                succeeded("Uses the channel as a socket, over which descriptors can be sent")
