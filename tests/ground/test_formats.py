from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from srh.errors import FormatError
from srh.formats import decode, pretty_json, read_json, read_toml


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    size: int
    rate: float = 1.0


@dataclass(frozen=True)
class Bounded:
    limit: float = 1.0

    def __post_init__(self) -> None:
        if self.limit <= 0:
            raise ValueError("limit must be positive")


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    inner: Inner
    many: list[Inner] = []
    maybe: Inner | None = None
    bounded: Bounded = Bounded()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 2}', "duplicate key 'a'"),
        (b'{"b": {"a": 1, "a": 2}}', "duplicate key 'a'"),
        (b'{"a": NaN}', "NaN is not a finite number"),
        (b'{"a": -Infinity}', "-Infinity is not a finite number"),
        (b'{"a": 1e999}', "1e999 is not a finite number"),
        (b"\xff", "not valid JSON"),
        (b'{"a": 1} {', "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_json_is_read_strictly(text, message):
    with pytest.raises(FormatError, match=message):
        read_json(text, "in.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a = 1\na = 2", "not valid TOML"),
        (b"a = nan", "a: must be a finite number"),
        (b"[b]\nc = [1.0, inf]", r"b.c\[1\]: must be a finite number"),
        (b"a = \xff", "not valid TOML"),
    ],
)
def test_toml_is_read_strictly(text, message):
    with pytest.raises(FormatError, match=message):
        read_toml(text, "task.toml")


def test_all_mistakes_are_reported_together_each_with_its_field():
    raw = {
        "nam": "x",
        "inner": {"size": "big", "rat": 2},
        "many": [{"size": 1}, {"rate": True}],
        "maybe": {"size": 1.5},
        "bounded": {"limit": -1},
    }
    with pytest.raises(FormatError) as caught:
        decode(Outer, raw, "file")
    assert caught.value.problems == [
        "nam: unknown field (did you mean 'name'?)",
        "name: required field is missing",
        "inner.rat: unknown field (did you mean 'rate'?)",
        "inner.size: Expected `int`, got `str`",
        "many[1].size: required field is missing",
        "many[1].rate: Expected `float`, got `bool`",
        "maybe.size: Expected `int`, got `float`",
        "bounded: limit must be positive",
    ]


def test_good_values_are_converted():
    raw = {"name": "x", "inner": {"size": 1, "rate": 2}, "bounded": {"limit": 3}}
    assert decode(Outer, raw, "file") == Outer("x", Inner(1, 2.0), bounded=Bounded(3.0))


def test_what_is_not_an_object_is_one_problem():
    with pytest.raises(FormatError, match="file: Expected `object`, got `array`"):
        decode(Outer, [], "file")


def test_written_json_is_strict_sorted_and_reads_back():
    text = pretty_json({"b": 0.1 + 0.2, "a": Inner(1)})
    assert list(read_json(text, "x")) == ["a", "b"]
    assert read_json(text, "x")["b"] == 0.1 + 0.2
    with pytest.raises(ValueError, match="JSON compliant"):
        pretty_json({"a": float("nan")})


def test_depth_is_bounded_however_it_is_written():
    for depth, refused in ((60, False), (500, True)):
        texts = [
            (read_json, '{"a": ' * depth + "1" + "}" * depth),
            (read_json, "[" * depth + "]" * depth),
            (read_toml, ".".join("a" * depth) + " = 1"),
            (read_toml, "[" + ".".join("a" * depth) + "]\nb = nan"),
        ]
        for read, text in texts[: None if refused else 3]:
            if refused:
                with pytest.raises(FormatError, match="nested too deeply"):
                    read(text.encode(), "in")
            else:
                read(text.encode(), "in")


def test_a_flood_of_mistakes_costs_no_more_than_the_first():
    """Each of these took minutes: by the square of the keys, or one suggestion per field."""
    keys = [f'"k{number}": 0' for number in range(200_000)]
    with pytest.raises(FormatError, match="duplicate key 'k199999'"):
        read_json(("{" + ", ".join([*keys, keys[-1]]) + "}").encode(), "in")
    raw = read_json(("{" + ", ".join(keys) + "}").encode(), "in")
    with pytest.raises(FormatError) as caught:
        decode(Outer, raw, "in")
    assert len(caught.value.problems) == 51
    assert caught.value.problems[-1].startswith("and perhaps more")
    with pytest.raises(FormatError) as caught:
        decode(Outer, {"name": "n", "inner": {"size": 1}, "many": [1] * 200_000}, "in")
    assert len(caught.value.problems) == 51
