from helpers import Honest


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        for number in range(6):
            (folder / str(number)).write_bytes(bytes(4 << 20))
