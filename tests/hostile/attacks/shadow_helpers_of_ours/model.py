import sys

import helpers

assert "srh.contestant.channel" not in sys.modules or helpers.__file__.endswith("helpers.py")


class Model(helpers.Honest):
    pass
