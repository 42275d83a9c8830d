import threading
import time
from pathlib import Path

from helpers import FORGED, Honest


def forge():
    while not Path("out.json").exists():
        time.sleep(0.01)
    time.sleep(0.2)
    Path("out.json").write_text(FORGED)


class Model(Honest):
    def predict(self, X):
        threading.Thread(target=forge).start()
        return super().predict(X)
