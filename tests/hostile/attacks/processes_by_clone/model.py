import ctypes
import os
import platform
import signal

from helpers import Honest, succeeded

NUMBER = {"x86_64": 56, "aarch64": 220}


class Model(Honest):
    def fit(self, X, y):
        libc = ctypes.CDLL(None, use_errno=True)
        child = libc.syscall(NUMBER[platform.machine()], signal.SIGCHLD, None, None, None, None)
        if child == 0:
            os._exit(0)
        if child < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        os.waitpid(child, 0)
        succeeded("a child")
