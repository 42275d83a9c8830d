from helpers import Honest


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        for number in range(11_000):
            (folder / str(number)).touch()
