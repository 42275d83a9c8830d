import os
import stat

from helpers import Honest, succeeded


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        os.mknod(folder / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        succeeded("a device in the saved state")
