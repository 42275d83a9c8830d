import inspect

from helpers import Thief


class Model(Thief):
    def loot(self):
        for caller in inspect.stack(0):
            yield from inspect.getargvalues(caller.frame).locals.values()
            yield from caller.frame.f_globals.values()
