import sys

from helpers import Thief


class Model(Thief):
    def loot(self):
        frame = sys._getframe()
        while frame is not None:
            yield from frame.f_locals.values()
            yield from [item for value in frame.f_globals.values() for item in vars_of(value)]
            frame = frame.f_back


def vars_of(value):
    return list(getattr(value, "__dict__", {}).values())
