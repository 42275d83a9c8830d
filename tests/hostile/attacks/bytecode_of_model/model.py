from helpers import Honest


class Model(Honest):
    pass
