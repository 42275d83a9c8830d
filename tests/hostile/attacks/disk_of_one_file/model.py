from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        with open("large", "wb") as stream:
            for _ in range(20):
                stream.write(bytes(1 << 20))
