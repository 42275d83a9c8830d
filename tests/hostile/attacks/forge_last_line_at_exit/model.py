import atexit

from helpers import FORGED, Honest

atexit.register(print, FORGED)


class Model(Honest):
    pass
