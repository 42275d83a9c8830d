from helpers import Honest, succeeded


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        (folder / "request").symlink_to("/etc/hostname")
        succeeded("a link in the saved state")
