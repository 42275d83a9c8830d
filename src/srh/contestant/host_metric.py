"""A host evaluator inside its confinement.

A template forks this process (see ``srh.sandbox.template``) and calls `main`. The scorer sends a
set-up and then examples, one by one; each is answered by one frame of JSON: what the evaluator
returned, or what went wrong. What is said here is the word of whoever wrote the evaluator, and the
scorer takes nothing of it for granted.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from srh.contestant.channel import Channel
from srh.contestant.code import describe, load_function
from srh.metrics import EvaluatorContext, EvidenceBundle, Example, Score, ScoreBatch
from srh.sandbox.forked import GIVEN
from srh.sandbox.limits import Limits
from srh.sandbox.lockdown import Confinement, finish_memory, lock_down
from srh.threads import use_threads


def main() -> int:
    """Serve one scorer until it ends this process, or the file cannot be loaded."""
    channel = Channel(GIVEN)
    setup, _ = channel.receive()
    limits = Limits(**setup["limits"])
    staged, scratch = Path(setup["staged"]), Path(setup["scratch"])
    lock_down(
        Confinement(
            read=(staged,),
            scratch=scratch,
            limits=limits,
            keep=(0, 1, 2, GIVEN),
            withheld=tuple(map(Path, setup["withheld"])),
            unsafe=setup["unsafe"],
        )
    )
    use_threads(limits.threads)
    random.seed(setup["seed"])
    np.random.seed(setup["seed"] % 2**32)
    finish_memory(limits)
    channel.send(b"R")  # from here on, whatever goes wrong is the evaluator's doing
    try:
        _serve(channel, setup, staged, scratch)
    except EOFError:
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like are failures too
        kind, text = describe(error, staged, scratch)
        channel.send(b"E", f"{kind}\n{text}".encode("utf-8", "replace"))
    return 0


def _serve(channel: Channel, setup: dict[str, Any], staged: Path, scratch: Path) -> None:
    """Measure one example after the other; the first has the code imported."""
    evaluate: Any = None
    context = json.dumps(setup["context"])  # whoever changes what it is told changes its own copy
    while True:
        command, _ = channel.receive()
        if evaluate is None:
            evaluate = load_function(staged, setup["module"], setup["function"])
        try:
            example = msgspec.convert(command["example"], Example)
            bundle = msgspec.convert(command["evidence"], EvidenceBundle)
            told = msgspec.convert(json.loads(context), EvaluatorContext)
            before = _picture(example, told, bundle)
            returned = evaluate(example, told, bundle)
            same = _picture(example, told, bundle) == before
            answer = _answer(returned) if same else {"mutated": True}
            content = _encoded(command, answer)
        except Exception as error:  # noqa: BLE001 - the next example may do better
            content = _encoded(command, {"raised": describe(error, staged, scratch)})
        except SystemExit as error:
            channel.send(b"J", _encoded(command, {"exited": str(error.code)}))
            os._exit(0)
        channel.send(b"J", content)


def _encoded(command: dict[str, Any], answer: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"at": command["at"], **answer})


def _picture(*given: object) -> str:
    return json.dumps(msgspec.to_builtins(given))


def _answer(returned: object) -> dict[str, Any]:
    if isinstance(returned, Score):
        returned = ScoreBatch((returned,))
    if not isinstance(returned, ScoreBatch):
        return {"wrong_type": type(returned).__name__}
    wrong = [type(one).__name__ for one in returned.scores if not isinstance(one, Score)]
    return {"wrong_type": f"a batch of {wrong[0]}"} if wrong else {"scores": returned.scores}
