from helpers import Honest, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(9, 222, None, 4096, 3, 0x122, -1, 0))
