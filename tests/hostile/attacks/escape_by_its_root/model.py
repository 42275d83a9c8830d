from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        with open("/proc/self/root/etc/passwd") as stream:
            succeeded(stream.read(20))
