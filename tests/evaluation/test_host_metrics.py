"""Host evaluators: honest ones measure, hostile ones cost their own examples a score, no more."""

from __future__ import annotations

import json

import pytest

from srh.evaluation import evaluate_trial
from srh.metrics import MetricSpec, Range
from srh.sandbox.limits import Limits

HEAD = """
import ctypes, json, os, socket, sys, time
import msgspec
from srh.metrics import Score, ScoreBatch
"""
SCORE = "return Score.scored(context.metric, 1.0)"
# Each body runs on the second of four examples; on the others the evaluator is honest.
HOSTILE = {
    "exits": ("sys.exit(3)", "host_exit"),
    "exits_at_once": ("os._exit(3)", "host_error"),
    "raises": ("raise ValueError('odd')", "evaluator_failed"),
    "raises_worse": ("raise KeyboardInterrupt", "host_error"),
    "crashes": ("ctypes.string_at(0)", "host_signal"),
    "sleeps": ("time.sleep(1000)", "host_wall_timeout"),
    "returns_nothing": ("return None", "wrong_type"),
    "returns_a_verdict": ("return True", "wrong_type"),
    "returns_a_batch_of_numbers": ("return ScoreBatch((1.0,))", "wrong_type"),
    "changes_its_input": (f"example.input['n'] = 7; {SCORE}", "mutated_inputs"),
    "changes_its_settings": (f"context.parameters['a'] = 7; {SCORE}", "mutated_inputs"),
    "names_what_is_not_declared": ("return Score.scored('other', 1.0)", "undeclared_name"),
    "leaves_its_range": ("return Score.scored(context.metric, 2.0)", "out_of_range"),
    "forges_a_value": (
        "s = Score.scored(context.metric, 1.0); "
        "msgspec.structs.force_setattr(s, 'value', float('nan')); return s",
        "bad_score",
    ),
    "eats_memory": ("x = bytearray(4 << 30); " + SCORE, "host_memory"),
    "fills_its_disk": (
        "open('x', 'wb').write(bytes(80 << 20)); " + SCORE,
        "host_disk_limit",
    ),
    "floods": ("print('x' * (4 << 20), flush=True); " + SCORE, "host_output_limit"),
    "calls_home": ("socket.create_connection(('127.0.0.1', 9)); " + SCORE, "evaluator_failed"),
    "forks": ("os.fork(); " + SCORE, "evaluator_failed"),
    "reads_the_task": ("open(context.parameters['data']).read(); " + SCORE, "host_denied"),
    "answers_for_another": (
        "os.write(3, (17).to_bytes(8, 'little') + b'J' + b'{\"at\": 2, \"a\": 1}'); " + SCORE,
        "host_bad_result",
    ),
    "answers_twice": (
        "os.write(3, (9).to_bytes(8, 'little') + b'J' + b'{\"a\": 1}'); " + SCORE,
        "host_bad_result",
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A task of four examples with an evaluator file per attack, and a trial."""
    folder = tmp_path_factory.mktemp("hosts")
    task = folder / "task"
    (task / "evaluators").mkdir(parents=True)
    examples = [{"id": f"e{n}", "input": {"n": n}, "reference": n} for n in range(4)]
    (task / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples))
    for name, (body, _) in HOSTILE.items():
        (task / "evaluators" / f"{name}.py").write_text(
            f"{HEAD}\n\ndef measure(example, context, bundle):\n"
            f"    if example.id == 'e1':\n        {body}\n    {SCORE}\n"
        )
    trial = folder / "trial"
    trial.mkdir()
    (trial / "trial.toml").write_text('kind = "outputs"\n')
    outputs = [{"id": f"e{n}", "output": n} for n in range(4)]
    (trial / "outputs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in outputs))
    return folder


def host(name, function="measure", **fields):
    given = {
        "name": name,
        "evaluator": f"evaluators/{name}.py:{function}",
        "score_type": "continuous",
        "range": Range(0.0, 1.0),
        "direction": "maximize",
    }
    return MetricSpec(**(given | fields))


def evaluate(place, specs, **limits):
    return evaluate_trial(
        place / "trial",
        place / "task" / "examples.jsonl",
        [name for spec in specs for name in spec.columns],
        [],
        0.0,
        60.0,
        specs=specs,
        limits=Limits(**({"memory_mb": 512, "disk_mb": 16, "output_kb": 64} | limits)),
    )


@pytest.fixture(scope="module")
def result(place):
    data = str(place / "task" / "examples.jsonl")
    specs = [host(name, parameters={"data": data}) for name in HOSTILE]
    return evaluate(place, [*specs, MetricSpec(name="exact_match")])


def test_the_run_goes_on(result):
    assert (result.status, result.error) == ("ok", None)
    assert result.metrics["exact_match"] == 1.0
    assert len(HOSTILE) >= 15


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_evaluator_costs_one_example_its_score(result, name):
    scores = result.per_example[name]
    (lack, *rest) = scores.missing
    assert lack.examples[0] == "e1", scores.missing
    assert (lack.status, lack.reason.partition(": ")[0]) == ("error", HOSTILE[name][1]), lack
    assert lack.reason.partition(": ")[2]
    assert result.metrics[name] is None, "no mean of what happened to work"
    if name == "sleeps":  # its time is used up
        assert scores.values == [1.0, None, None, None]
        assert rest[0].reason.startswith("host_given_up: ")
    else:
        assert scores.values == [1.0, None, 1.0, 1.0]


def test_the_digest_of_the_file_is_in_the_provenance(result, place):
    files = result.provenance.task_files
    assert set(files) == {f"evaluators/{name}.py" for name in HOSTILE}
    scores = result.per_example["raises"]
    assert scores.version == files["evaluators/raises.py"]
    assert scores.evaluator == "evaluators/raises.py:measure"


def test_an_evaluator_that_always_dies_is_given_up(place):
    (place / "task" / "evaluators" / "dies.py").write_text(
        "import os\n\ndef measure(example, context, bundle):\n    os._exit(1)\n"
    )
    (place / "task" / "evaluators" / "unloadable.py").write_text(
        "raise ValueError('no')\n\n\ndef measure(example, context, bundle):\n    return None\n"
    )
    found = evaluate(place, [host("dies"), host("unloadable")])
    assert found.status == "ok"
    for name in ("dies", "unloadable"):
        (lack,) = found.per_example[name].missing
        assert lack.reason.startswith("host_error: ")
        assert len(lack.examples) == 4
    assert "ValueError: no" in found.per_example["unloadable"].missing[0].reason


HONEST = f"""{HEAD}
from collections.abc import Mapping


def answer_nonempty(example, context, bundle):
    if example.output is None:
        return Score.non_evaluable(context.metric, "no_output", "no output")
    return Score.scored(context.metric, float(str(example.output).strip() != ""))


def two(example, context, bundle):
    return ScoreBatch((Score.scored("odd", example.output % 2), Score.scored("size", 0.25)))


def told(example, context, bundle):
    assert context.parameters == {{"a": [1]}} and context.emits == ("told",)
    assert example.unit.kind == "call" and bundle.judge_evidence == ()
    return Score.scored(context.metric, 1.0)
"""


def test_honest_evaluators_measure(place):
    (place / "task" / "evaluators" / "honest.py").write_text(HONEST)
    file = "evaluators/honest.py"
    found = evaluate(
        place,
        [
            host("answer", evaluator=f"{file}:answer_nonempty", score_type="binary"),
            host("pair", evaluator=f"{file}:two", emits=["odd", "size"]),
            host("told", evaluator=f"{file}:told", parameters={"a": [1]}),
        ],
    )
    assert found.metrics == {"answer": 1.0, "odd": 0.5, "size": 0.25, "told": 1.0}
    assert found.provenance.sandbox == "full"
    assert found.scores["answer"].interval.kind == "wilson"


def test_prerequisites_block_where_they_have_no_value(place):
    spec = host("raises")
    after = MetricSpec(name="exact_match", prerequisites=["raises"])
    found = evaluate(place, [after, spec])
    scores = found.per_example["exact_match"]
    assert scores.values == [1.0, None, 1.0, 1.0]
    assert [(one.status, one.examples) for one in scores.missing] == [("blocked", ["e1"])]
    assert scores.missing[0].reason == "prerequisite: raises has no value for it"
