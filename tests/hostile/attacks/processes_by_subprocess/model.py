import subprocess
import sys

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(subprocess.run([sys.executable, "-S", "-c", "print(1)"], capture_output=True))
