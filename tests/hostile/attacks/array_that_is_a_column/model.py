from helpers import Honest


class Model(Honest):
    def predict(self, X):
        return super().predict(X)[:, None]
