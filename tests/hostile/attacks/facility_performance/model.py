import struct

from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(298, 241, struct.pack("=2I", 1, 64).ljust(64, b"\0"), 0, -1, -1, 0))
