from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(157, 167, 36, 1, 0, 0, 0))
