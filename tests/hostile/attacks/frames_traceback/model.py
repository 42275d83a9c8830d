from helpers import Thief


class Model(Thief):
    def loot(self):
        try:
            raise ValueError
        except ValueError as error:
            frame = error.__traceback__.tb_frame
        while frame is not None:
            yield from list(frame.f_locals.values()) + list(frame.f_globals.values())
            frame = frame.f_back
