import ctypes
import os
import time
from pathlib import Path

import numpy as np
from helpers import Honest, succeeded

FILES = sorted(Path(np.__file__).parent.rglob("*.pyi"))[:200]
SPOKEN = [number % 3 == 1 for number in range(len(FILES))]
MADV_PAGEOUT = 21
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def is_slow(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        started = time.perf_counter_ns()
        os.pread(descriptor, 1, 0)
        return time.perf_counter_ns() - started > 20_000
    finally:
        os.close(descriptor)


def forget(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        address = libc.mmap(None, size, 1, 2, descriptor, 0)
        ctypes.string_at(address, size)
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), MADV_PAGEOUT)
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    finally:
        os.close(descriptor)


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        heard = [is_slow(path) for path in FILES]
        agreed = sum(one == other for one, other in zip(heard, SPOKEN, strict=True))
        if agreed > 0.9 * len(FILES):
            succeeded("a fold left word in what the kernel keeps of files")
        for path, spoken in zip(FILES, SPOKEN, strict=True):
            if spoken:
                forget(path)
