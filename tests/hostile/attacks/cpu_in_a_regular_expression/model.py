import re

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        for length in range(20, 26):
            re.match("(a+)+$", "a" * length + "b")
