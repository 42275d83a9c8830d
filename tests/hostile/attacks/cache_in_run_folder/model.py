import json
from pathlib import Path

from helpers import Rememberer

CACHE = Path("../../../cache.json")


class Model(Rememberer):
    def remember(self, known):
        CACHE.write_text(json.dumps({**self.recall(), **known}))

    def recall(self):
        return json.loads(CACHE.read_text()) if CACHE.exists() else {}
