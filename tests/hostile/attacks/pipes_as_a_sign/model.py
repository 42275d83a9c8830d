import os

import helpers


class Model(helpers.Honest):
    def fit(self, X, y):
        for _ in range(100):
            os.close(os.pipe()[0])
        helpers.succeeded("the numbers of pipes, which count them all")
