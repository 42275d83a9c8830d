from pathlib import Path

import numpy as np
from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        place = Path(np.__file__).with_name("srh-hostile-cache")
        place.write_text("labels")
        place.unlink()
        succeeded(place)
