"""What processes of one template can learn of each other, and what they can do to it."""

from __future__ import annotations

import textwrap

import pytest

from srh.environment import clean_environment
from srh.files import remove_tree
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Nursery, Order
from srh.sandbox.supervise import Child, supervise
from support import mounts_are_possible

SEARCH = """
    found = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        regions = [line.split() for line in maps]
        for span, rights, *_ in regions:
            if rights.startswith("rw"):
                first, last = (int(end, 16) for end in span.split("-"))
                memory.seek(first)
                try:
                    found += memory.read(last - first).count(bytes(ord(c) ^ 1 for c in hidden))
                except OSError:
                    pass
    print(found > 0)
"""
LOOK = """
    import os
    print(os.path.exists(path))
"""


@pytest.fixture
def nursery(tmp_path):
    made = Nursery(["gc:collect"], clean_environment() | {"TMPDIR": str(tmp_path)}, scratch=True)
    yield made
    made.close()


def order_in(place, code, scratch=True, **names):
    place.mkdir(exist_ok=True)
    return Order(
        entry="builtins:exec",
        arguments=(textwrap.dedent(code), names),
        cwd=place,
        environment=clean_environment(),
        scratch=place if scratch else None,
        disk_mb=4.0,
    )


def answer(nursery, order):
    ended = supervise(nursery, order, Limits())
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode().strip() == "True"


def test_no_process_finds_where_another_one_works(nursery, tmp_path):
    other, own = tmp_path / "place-of-the-other-one", tmp_path / "place-of-its-own"
    with Child(nursery, order_in(other, "import time; time.sleep(60)"), Limits()):
        for place, found in ((own, True), (other, False)):
            hidden = "".join(chr(ord(letter) ^ 1) for letter in place.name)
            assert answer(nursery, order_in(own, SEARCH, hidden=hidden)) is found


def test_no_process_sees_what_is_in_the_folder_of_another(nursery, tmp_path):
    if not mounts_are_possible():
        pytest.skip("this machine does not permit mounts of one's own")
    code = "import time; open('written', 'w').close(); print('done', flush=True); time.sleep(60)"
    other = tmp_path / "other"
    with Child(nursery, order_in(other, code), Limits()) as child:
        while not child._kept[0]:
            child._pump()
        written = str(other / "written")
        # One that has no folder of its own is no contestant: it sees what all of them write.
        assert answer(nursery, order_in(tmp_path / "all", LOOK, scratch=False, path=written))
        assert not answer(nursery, order_in(tmp_path / "own", LOOK, path=written))


def test_a_template_outlives_a_folder_that_is_removed_too_early(nursery, tmp_path):
    place = tmp_path / "place"
    with Child(nursery, order_in(place, "import time; time.sleep(60)"), Limits()) as child:
        remove_tree(place)
        child.dismiss()
    assert nursery.alive
    assert supervise(nursery, order_in(place, "print(1)"), Limits()).stdout == b"1\n"
