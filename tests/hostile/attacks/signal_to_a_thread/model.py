from helpers import Honest, judge, succeeded, system_call


class Model(Honest):
    def fit(self, X, y):
        succeeded(system_call(234, 131, judge(), judge(), 28))
