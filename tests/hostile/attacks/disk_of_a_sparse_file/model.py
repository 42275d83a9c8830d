from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        with open("sparse", "wb") as stream:
            stream.truncate(100 << 20)
