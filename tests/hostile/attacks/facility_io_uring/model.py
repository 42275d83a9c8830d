from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(425, 425, 1, bytearray(120)))
