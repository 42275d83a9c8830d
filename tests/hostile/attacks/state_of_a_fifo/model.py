import os

from helpers import Honest, succeeded


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        os.mkfifo(folder / "pipe")
        succeeded("a named pipe in the saved state")
