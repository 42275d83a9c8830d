import gc
import sys

from helpers import Thief


class Model(Thief):
    def loot(self):
        seen, layer = set(), [sys.modules["__main__"]]
        for _ in range(4):
            layer = [item for item in gc.get_referents(*layer) if id(item) not in seen]
            seen.update(map(id, layer))
            yield from layer
