import resource

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        succeeded("a limit was raised")
