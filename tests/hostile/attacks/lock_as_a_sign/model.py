import fcntl

import helpers


class Model(helpers.Honest):
    def fit(self, X, y):
        with open(helpers.__file__) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
        helpers.succeeded("a lock on a shared file")
