import os
from pathlib import Path

from helpers import Honest

NAMES = [
    b"\n",
    b"\x1b[2Jgone",
    b"\xff\xfe",
    "\u202egnp.exe".encode(),
    b"a" * 255,
    b" ",
    b"-rf",
    b"*",
]


class Model(Honest):
    def save(self, folder):
        super().save(folder)
        for name in NAMES:
            with open(os.path.join(os.fsencode(folder), name), "wb") as stream:
                stream.truncate(7 << 20)
