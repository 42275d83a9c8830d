from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srh.context import check_partitions
from srh.errors import FormatError

BAD: list[tuple[Any, list[str]]] = [
    (None, ["must be a list"]),
    ([], ["must be a list"]),
    ({"train": [0]}, ["must be a list"]),
    ([[[0, 1]]], ["[0]: must be a pair"]),
    ([[0, 1]], ["[0].train: must be a list of row numbers, not int", "[0].validation"]),
    ([["01", [1]]], ["[0].train: must be a list of row numbers, not str"]),
    ([[[], [1]]], ["[0].train: is empty"]),
    ([[[0], []]], ["[0].validation: is empty"]),
    ([[[0, 1], [1, 2]]], ["[0]: row 1 is in training and in validation"]),
    ([[[0, 10], [1]]], ["[0].train: row 10 is out of range; the data have rows 0 to 9"]),
    ([[[0], [-1, -2]]], ["[0].validation: rows -1, -2 are out of range"]),
    ([[[0, 2**80], [1]]], ["out of range"]),
    ([[[True, 2], [1]]], ["[0].train: True is no whole row numbers"]),
    ([[[0, 1.0], [2]]], ["[0].train: 1.0 is no whole row numbers"]),
    ([[["3", None], [2]]], ["'3', None are no whole row numbers"]),
    ([[np.array([True, False]), [2]]], ["no whole row numbers"]),
    ([[np.array([[0, 1]]), [2]]], ["must be a list of row numbers, not ndarray"]),
    ([[[0, 3, 3], [2]]], ["[0].train: row 3 is listed more than once"]),
    ([[[0, 8], [9]]], ["[0].train: row 8 is held out", "[0].validation: row 9 is held out"]),
    ([[[0], [1]], [[2], [2]]], ["[1]: row 2 is in training and in validation"]),
]


@pytest.mark.parametrize(("partitions", "parts"), BAD)
def test_refused(partitions: Any, parts: list[str]) -> None:
    with pytest.raises(FormatError) as caught:
        check_partitions(partitions, 10, forbidden=[8, 9], where="request.partitions")
    assert len(caught.value.problems) == len(parts)
    for part, problem in zip(parts, caught.value.problems, strict=True):
        assert part in problem
    assert str(caught.value).startswith("request.partitions: ")


def test_all_mistakes_are_listed() -> None:
    with pytest.raises(FormatError) as caught:
        check_partitions([[[0, 0, True, 20], []], "x", [[1, 9], [1]]], 10, forbidden=[9])
    assert len(caught.value.problems) == 7


def test_a_long_list_of_mistakes_is_cut() -> None:
    with pytest.raises(FormatError, match=r"rows 10, 11, 12, 13, 14 and 85 more are out of range"):
        check_partitions([[list(range(100)), [5]]], 10)


def test_result_is_plain_integers_in_the_given_order() -> None:
    rows = (np.array([3, 1], dtype=np.uint8), (np.int64(0), 2))
    checked = check_partitions([rows], 4)
    assert checked == [([3, 1], [0, 2])]
    assert {type(row) for row in checked[0][0] + checked[0][1]} == {int}
