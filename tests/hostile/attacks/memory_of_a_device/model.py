from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        with open("/dev/zero", "r+b") as device:
            succeeded(device)
