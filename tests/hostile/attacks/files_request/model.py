import json
from pathlib import Path

from helpers import Thief, open_arrays


class Model(Thief):
    def loot(self):
        try:
            request = json.loads(Path("../../../in.json").read_text())
            return open_arrays(request["dataset_path"])
        except PermissionError:
            return []
