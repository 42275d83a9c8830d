from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(161, 51, b"."))
