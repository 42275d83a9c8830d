from pathlib import Path

from helpers import FORGED, Honest


class Model(Honest):
    def __del__(self, write=Path.write_text, place=Path("out.json"), text=FORGED):
        write(place, text)
