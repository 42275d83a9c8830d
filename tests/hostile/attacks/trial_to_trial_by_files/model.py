import contextlib
import os
from pathlib import Path

from helpers import Honest, succeeded

HERE = Path(__file__).parent
PLACES = [
    Path("srh-hostile-left"),
    Path("saved/srh-hostile-left"),
    Path("../srh-hostile-left"),
    Path("../../srh-hostile-left"),
    Path("../../../srh-hostile-left"),
    Path("../../../../srh-hostile-left"),
    HERE / "srh-hostile-left",
    HERE.parent / "srh-hostile-left",
    *(Path(folder) / "srh-hostile-left" for folder in ("/tmp", "/var/tmp", "/dev/shm")),
    Path(os.environ["HOME"]) / "srh-hostile-left",
]


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        if any(place.exists() for place in PLACES):
            succeeded("an evaluation left word for the next one")
        for place in PLACES:
            with contextlib.suppress(OSError):
                place.write_text("left")
