"""How many threads the numeric libraries use in this process, whenever they were loaded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from srh.environment import THREAD_VARIABLES

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_pools: ThreadpoolController | None = None


def find_pools() -> None:
    """Find the libraries with threads that are loaded; it reads what may be out of reach later."""
    global _pools  # noqa: PLW0603 - they belong to the process
    from threadpoolctl import ThreadpoolController

    _pools = ThreadpoolController()


def use_threads(number: int) -> None:
    """Have libraries that were found, and those that are loaded later, use so many threads."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(number)
    if _pools is not None and number > 1:  # a template has one
        _pools.limit(limits=number)
