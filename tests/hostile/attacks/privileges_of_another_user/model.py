from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(117, 147, 65534, 65534, 65534))
