import resource

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        resource.prlimit(judge(), resource.RLIMIT_NOFILE)
        succeeded("Changes its parent's limits.")
