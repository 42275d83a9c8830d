"""A process that evaluates as `srh` does, for checks of what stays behind after it.

``python -m srh.evaluation.conformance.driver evaluate`` reads on its standard input, a JSON object
a line, what `Stage.evaluate` is to be called with, answers each with the outcome, and says at the
end what it sees of leftovers; ``... planted FOLDER`` plants results in a trial's folder, and says
which of them are believed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from srh.context import digest_data
from srh.evaluation.conformance.stage import METRICS, ROOMY, TOLERANCE, Stage, make_folds
from srh.evaluation.protocol import Request
from srh.evaluation.records import RESULT_FILE, load_record, store_record
from srh.evaluation.runner import run_request
from srh.sandbox.limits import Limits
from srh.trials import Trial, read_source
from srh.vault import seal


def evaluate() -> None:
    """Evaluate what standard input asks for, and say what is left."""
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        if asked.get("look"):
            _say({"files": left_files(), "mounts": left_mounts(tempfile.gettempdir())})
            continue
        place, trial = Stage(Path(asked["place"])), Path(asked["trial"])
        limits = Limits(**asked.get("limits", {}))
        result = place.evaluate(trial, timeout=asked.get("timeout", 60.0), limits=limits)
        _say({"outcome": result.outcome, "error": result.error})


def planted(folder: str) -> None:
    """Plant results in the folder of a trial that has an honest one, and see what is believed.

    Args:
        folder: A stage's folder, with a trial.
    """
    place = Stage(Path(folder))
    trial = Trial("noise", "trial", place.folder / "trial")
    source, data = read_source(trial.folder), digest_data(place.data)
    request = Request(
        trial_dir=".",
        dataset_path=str(place.data),
        metrics=list(METRICS),
        partitions=make_folds(1),
        tolerance=TOLERANCE,
        limits=ROOMY,
    )
    os.environ["XDG_DATA_HOME"] = str(place.folder / "mine")
    evaluation = run_request(request, source, data=data)
    store_record(trial, evaluation, request)
    provenance = evaluation.result.provenance
    states = {"own": load_record(trial, provenance).state}
    honest = json.loads((trial.folder / RESULT_FILE).read_text(encoding="utf-8"))
    better = {**honest, "metrics": {**honest["metrics"], "r2": 1.0}}
    without = {key: value for key, value in better.items() if key != "seal"}
    os.environ["XDG_DATA_HOME"] = str(place.folder / "another")
    another = {**without, "seal": seal(without)}
    os.environ["XDG_DATA_HOME"] = str(place.folder / "mine")
    for name, body in (("edited", better), ("unsealed", without), ("sealed by another", another)):
        (trial.folder / RESULT_FILE).write_text(json.dumps(body), encoding="utf-8")
        states[name] = load_record(trial, provenance).state
    _say(states)


def left_files() -> list[str]:
    """Return what lies in the folder for temporary files."""
    return sorted(path.name for path in Path(tempfile.gettempdir()).iterdir())


def left_mounts(beneath: str) -> list[str]:
    """Return what is mounted beneath a folder, as this process and all that it started see it."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    points = set()
    for process in family:
        try:
            lines = Path(f"/proc/{process.pid}/mountinfo").read_text(encoding="utf-8").splitlines()
        except OSError:  # gone meanwhile
            continue
        points |= {line.split()[4] for line in lines}
    return sorted(point for point in points if point.startswith(beneath))


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "evaluate":
        evaluate()
    else:
        planted(sys.argv[2])
