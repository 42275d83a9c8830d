import sys

from helpers import Thief


class Model(Thief):
    def loot(self):
        for module in list(sys.modules.values()):
            for value in list(getattr(module, "__dict__", {}).values()):
                yield value
                yield from list(getattr(value, "__dict__", {}).values())
