from helpers import Honest, succeeded

LEFT = False


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        if LEFT:
            succeeded("an evaluation left word for the next one")
        with open(__file__, "r+") as stream:
            source = stream.read().replace("LEFT = False", "LEFT = True", 1)
            stream.seek(0)
            stream.write(source)
