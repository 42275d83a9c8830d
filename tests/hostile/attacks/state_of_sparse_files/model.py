from pathlib import Path

from helpers import Honest


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        for number in range(50):
            with (Path(folder) / str(number)).open("wb") as stream:
                stream.truncate(7 << 20)
