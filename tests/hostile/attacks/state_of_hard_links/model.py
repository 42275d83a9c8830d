import os

import helpers


class Model(helpers.Honest):
    def save(self, folder):
        super().save(folder)
        os.link(helpers.__file__, folder / "source.py")
        helpers.succeeded("a hard link in the saved state")
