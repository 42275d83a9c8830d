"""The process that imports SymPy: reads tasks as lines of JSON, answers with lines of JSON.

A task is ``{"do": name, "texts": [formula, ...], "seconds": s}``; its formulas are plain text over
names that mean nothing. Each answer ``{"text": ...}`` is sent as soon as it is there, so that what
a task found before its time ended is kept; ``{"end": "done"}`` or ``{"end": "failed", ...}`` is
the last. The process ends with the one that started it, with its pipe, and by its limits: nobody
may be left to kill it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import sympy
from sympy.printing.str import StrPrinter

from srh.engine.parser import parse
from srh.engine.sympy_form import to_sympy
from srh.engine.sympy_reading import from_sympy
from srh.errors import FormulaError
from srh.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PLAIN = re.compile(r"(\*\*|/)S\((\d+)\)")
_HIGH = 12  # power of a sum

_LARGE = 150
"""Operations above which only what takes SymPy little time is tried."""


def main() -> None:
    """Serve tasks until standard input ends."""
    memory = int(sys.argv[1]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_owner, args=(os.getppid(),), daemon=True).start()
    _send(end="ready")
    for line in sys.stdin:
        task = json.loads(line)
        _allow(task["seconds"])
        try:
            for text in _TASKS[task["do"]](*task["texts"]):
                _send(text=text)
        except MemoryError:
            _send(end="failed", why="it took too much memory")
            return
        except RecursionError:
            _send(end="failed", why="it nests too deeply for SymPy")
        except FormulaError as error:
            _send(end="failed", why=str(error))
        except Exception as error:  # noqa: BLE001 - SymPy raises anything, and the next task is another
            _send(end="failed", why=one_line(f"SymPy failed: {type(error).__name__}: {error}"))
        else:
            _send(end="done")


def _send(**answer: str) -> None:
    print(json.dumps(answer), flush=True)  # noqa: T201 - the pipe


def _allow(seconds: float) -> None:
    """Let the kernel end this process if the next task takes far more processor time."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(spent.ru_utime + spent.ru_stime + seconds) + 2
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _end_with_owner(owner: int) -> None:
    while os.getppid() == owner:
        time.sleep(0.5)
    os._exit(1)


def _difference(a: str, b: str) -> Iterator[str]:
    """Yield ``0`` if two formulas are equal, else the shortest form found of the difference."""
    form = to_sympy(parse(a)) - to_sympy(parse(b))
    found: list[Any] = [form]
    for step in _steps(form):
        if found[-1] == 0:
            break
        found.append(step(form))
    best = min(found, key=sympy.count_ops)
    yield "0" if 0 in found else str(from_sympy(best))


def _simplified(text: str) -> Iterator[str]:
    """Yield formulas that should have the same value."""
    form = to_sympy(parse(text))
    seen = set()
    for step in (lambda same: same, *_steps(form)):
        try:
            known = str(from_sympy(step(form)))
        except FormulaError:  # such a form is not ours; another step may give one that is
            continue
        if known not in seen:
            seen.add(known)
            yield known


def _steps(form: Any) -> list[Callable[[Any], Any]]:
    """Return ways to rewrite a form, those that take little time first."""
    if sympy.count_ops(form) > _LARGE or _has_high_power(form):
        return [sympy.powsimp, sympy.factor_terms]
    return [
        sympy.cancel,
        sympy.factor,
        sympy.expand,
        sympy.powsimp,
        lambda f: sympy.powsimp(sympy.expand(f)),
        sympy.simplify,
        lambda f: sympy.simplify(f.rewrite(sympy.exp)),
        lambda f: sympy.simplify(sympy.expand_log(f)),
        lambda f: sympy.logcombine(sympy.simplify(f)),
    ]


def _has_high_power(form: Any) -> bool:
    """Say whether an expansion would have more terms than anybody wants."""
    return any(
        power.exp.is_Rational and abs(power.exp) > _HIGH and power.base.is_Add
        for power in form.atoms(sympy.Pow)
    )


class _Exact(StrPrinter):  # type: ignore[misc]
    """SymPy's text that Python reads back as the same SymPy expression."""

    def __init__(self) -> None:
        super().__init__({"sympy_integers": True})

    def _print_Float(self, expr: Any) -> str:  # noqa: N802 - SymPy's name
        return repr(float(expr))


def _source(text: str) -> Iterator[str]:
    """Yield SymPy source of a formula, not simplified."""
    source = _Exact().doprint(to_sympy(parse(text)))
    # What stands before these two is no integer of Python's: all of those are inside S(...).
    yield _PLAIN.sub(r"\1\2", source)


_TASKS: dict[str, Callable[..., Iterator[str]]] = {
    "difference": _difference,
    "simplify": _simplified,
    "source": _source,
}

if __name__ == "__main__":
    main()
