import os

from helpers import Honest, succeeded

STEPS = 8192
SPOKEN = 5000
NEAR = 64


def next_number():
    with open("number", "w") as stream:
        number = os.fstat(stream.fileno()).st_ino
    os.unlink("number")
    return number


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        if (next_number() - SPOKEN) % STEPS < NEAR:
            succeeded("a fold left word in the numbers of files")
        for _ in range(STEPS):
            if next_number() % STEPS == SPOKEN:
                break
