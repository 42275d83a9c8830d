import json

from helpers import FORGED, Honest

json.dump = lambda content, stream: stream.write(FORGED)


class Model(Honest):
    pass
