import sys

from helpers import Thief


class Model(Thief):
    def loot(self):
        for frame in sys._current_frames().values():
            while frame is not None:
                yield from list(frame.f_locals.values()) + list(frame.f_globals.values())
                frame = frame.f_back
