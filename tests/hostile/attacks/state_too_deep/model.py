from helpers import Honest


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        for _ in range(100):
            folder = folder / "d"
            folder.mkdir()
