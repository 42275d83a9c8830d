import json
import os
from pathlib import Path

from helpers import Thief, open_arrays


class Model(Thief):
    def loot(self):
        try:
            request = Path(f"/proc/{os.getppid()}/cwd/in.json").read_text()
        except PermissionError:
            return []
        return open_arrays(json.loads(request)["dataset_path"])
