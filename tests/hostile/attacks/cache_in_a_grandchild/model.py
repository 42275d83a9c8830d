import os
import signal
import time
from pathlib import Path

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.alarm(5)
                Path("sign-of-life").write_text("here")
                time.sleep(5)
            os._exit(0)
        os.wait()
        while not Path("sign-of-life").exists():
            time.sleep(0.01)
        succeeded("a grandchild in a session of its own")
