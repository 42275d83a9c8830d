from __future__ import annotations

import json

import pytest

from srh.errors import FormatError
from srh.evaluation.protocol import EvaluationResult, read_request, read_result
from srh.formats import pretty_json, read_json

SEED_KEYS = {
    "trial_dir": "t",
    "dataset_path": "d.csv",
    "metrics": ["r2"],
    "partitions": [[[0, 1], [2]]],
    "tolerance": 1e-6,
}


def read(changes=None, **fields):
    return read_request(json.dumps({**SEED_KEYS, **(changes or {}), **fields}).encode(), "in.json")


def test_the_five_keys_are_a_whole_request():
    request = read()
    assert request.partitions == [([0, 1], [2])]
    assert request.limits.threads == 1


def test_a_request_survives_encoding():
    request = read(data={"target": "y"}, limits={"wall_s": 5}, seed=3)
    again = read_request(request.encode(), "in.json")
    assert again == request
    assert again.digest == request.digest
    assert b"[[0,1],[2]]" in request.encode()


def test_the_digest_ignores_places_and_nothing_else():
    base = read().digest
    assert read(trial_dir="elsewhere", dataset_path="/x").digest == base
    for change in (
        {"seed": 1},
        {"tolerance": 1e-5},
        {"metrics": ["mae"]},
        {"limits": {"cpu_s": 1}},
    ):
        assert read(change).digest != base


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": ["r2"]}, "metric: unknown field (did you mean 'metrics'?)"),
        ({"partitions": [[[0, True], [2]]]}, "partitions"),
        ({"partitions": [[[0, 1.5], [2]]]}, "partitions"),
        ({"partitions": [[[0, 1]]]}, "partitions"),
        ({"tolerance": "small"}, "tolerance: Expected `float`, got `str`"),
        ({"limits": {"cpu_s": 0}}, "limits: cpu_s must be a positive finite number"),
        ({"data": {"targt": "y"}}, "data.targt: unknown field (did you mean 'target'?)"),
    ],
)
def test_a_wrong_request_names_its_field(change, message):
    with pytest.raises(FormatError) as caught:
        read(change)
    assert message in str(caught.value)


def test_a_result_survives_encoding_without_nan():
    failed = EvaluationResult.failed("error", "no", ["r2"])
    assert read_result(read_json(pretty_json(failed), "x"), "x") == failed


@pytest.mark.parametrize(
    "forged", [{}, {"status": "great"}, [], {"status": "ok", "metrics": {"r2": True}}]
)
def test_a_forged_result_is_refused(forged):
    with pytest.raises(FormatError):
        read_result(forged, "out.json")
