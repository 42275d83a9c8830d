import _thread

from helpers import Honest, succeeded

STEPS = 8192
SPOKEN = 5000
NEAR = 1024


def next_number():
    numbers = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def tell():
        numbers.append(_thread.get_native_id())
        ended.release()

    _thread.start_new_thread(tell, ())
    ended.acquire()
    return numbers[0]


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        if (next_number() - SPOKEN) % STEPS < NEAR:
            succeeded("a fold left word in the numbers of processes")
        for _ in range(2 * STEPS):
            if (next_number() - SPOKEN) % STEPS < 16:
                break
