import os
import sys

from helpers import Honest

CODE = "import sys; sys.exit(7)"


class Model(Honest):
    def fit(self, X, y):
        os.execv(sys.executable, [sys.executable, "-S", "-c", CODE])
