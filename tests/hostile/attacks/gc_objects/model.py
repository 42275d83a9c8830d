import contextlib
import gc

from helpers import Thief


class Model(Thief):
    def loot(self):
        for item in gc.get_objects():
            with contextlib.suppress(Exception):
                yield from list(vars(item).values())
