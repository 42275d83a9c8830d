import os
from pathlib import Path

from helpers import Honest


class Model(Honest):
    def save(self, folder):
        place = Path("elsewhere").absolute()
        place.mkdir(exist_ok=True)
        super().save(place)
        (Path(folder) / "place").write_text(str(place))

    @classmethod
    def load(cls, folder):
        return super().load((Path(folder) / "place").read_text())
