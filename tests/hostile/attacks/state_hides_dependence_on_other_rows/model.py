from typing import ClassVar

import numpy as np
from helpers import Honest


class Model(Honest):
    answers: ClassVar[dict] = {}

    def predict(self, X):
        new = [row for row in X if row.tobytes() not in self.answers]
        if new:
            middle = np.mean([row[0] for row in new])
            self.answers.update({row.tobytes(): row[0] - middle for row in new})
        return np.array([self.answers[row.tobytes()] for row in X])
