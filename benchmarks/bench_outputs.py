"""What scoring many outputs costs: time and memory of 10,000 and 100,000 examples, three metrics.

Machines differ: the time is told beside that of reading the same two files as JSON, line by line.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from srh.evaluation import evaluate_trial
from srh.sandbox.limits import Limits

METRICS = ["exact_match", "set_overlap", "structural_shape"]
ROUNDS = 3


def write(folder: Path, count: int) -> None:
    trial = folder / "trial"
    trial.mkdir(parents=True)
    with (
        (folder / "examples.jsonl").open("w") as examples,
        (trial / "outputs.jsonl").open("w") as outputs,
    ):
        for n in range(count):
            text = f"the answer to question {n} is {n % 97}"
            one = {"id": f"example-{n}", "input": {"question": n}, "reference": text}
            examples.write(json.dumps(one) + "\n")
            if n % 1000:  # one in a thousand is not answered
                outputs.write(json.dumps({"id": one["id"], "output": text[n % 3 :]}) + "\n")


def read(folder: Path) -> float:
    started = time.perf_counter()
    for path in (folder / "examples.jsonl", folder / "trial" / "outputs.jsonl"):
        for line in path.read_bytes().splitlines():
            json.loads(line)
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for count in (10_000, 100_000):
            folder = Path(name, str(count))
            write(folder, count)
            for _ in range(ROUNDS):
                reading = read(folder)
                started = time.perf_counter()
                result = evaluate_trial(
                    folder / "trial",
                    folder / "examples.jsonl",
                    METRICS,
                    [],
                    0.0,
                    120.0,
                    limits=Limits(memory_mb=1024),
                )
                took = time.perf_counter() - started
                assert result.status == "ok", result.error
                assert result.scores["exact_match"].n_scored == count - count // 1000
                assert result.usage is not None
                peak = result.usage.peak_memory_mb or 0.0
                print(
                    f"{count:7} examples: {took:6.2f} s, {took / reading:5.1f} times reading them, "
                    f"peak {peak:4.0f} MiB, {peak * 2**20 / count:5.0f} bytes an example"
                )


if __name__ == "__main__":
    main()
