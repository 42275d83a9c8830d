from pathlib import Path

import numpy as np
from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        packages = Path(np.__file__).parents[1]
        found = sorted((packages / "sklearn/datasets/data").iterdir())
        tables = [place for place in found if place.name.endswith((".csv", ".csv.gz"))]
        assert tables
        read = []
        for place in tables:
            try:
                read.append(place.read_bytes()[:10])
            except PermissionError as error:
                refusal = error
        if read:
            succeeded(read)
        raise refusal
