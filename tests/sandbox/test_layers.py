"""What a process may reach whose grants its template has prepared: the same as any contestant."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import sklearn

from srh.environment import clean_environment
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Nursery, Order
from srh.sandbox.supervise import supervise

CODE = """
    import json, os
    from pathlib import Path
    from srh.sandbox import layers
    from srh.sandbox.limits import Limits
    from srh.sandbox.lockdown import Confinement, lock_down

    own, scratch = Path("own/trial").absolute(), Path("own/scratch").absolute()
    base = Path.cwd()
    prepared = layers._usable((own, scratch), (base / withheld,)) is not None
    if locked:
        lock_down(Confinement(read=(own,), scratch=scratch, limits=Limits(),
                              withheld=(base / withheld,)))

    def attempt(act):
        try:
            act()
        except OSError as error:
            return os.strerror(error.errno)
        return "done"

    print(json.dumps([prepared, *(attempt(act) for act in (
        lambda: (own / "model.py").read_text(),
        lambda: (scratch / "new").write_text("x"),
        lambda: Path(os.__file__).read_text(),
        lambda: Path("/dev/null").write_text("x"),
        lambda: Path("/proc/self/maps").read_bytes(),
        lambda: (own / "model.py").write_text("x"),
        lambda: (base / "other" / "secret").read_text(),
        lambda: (base / "other" / "secret").write_text("x"),
        lambda: (base / "secret").read_text(),
        lambda: os.listdir(base),
        lambda: os.listdir(base / "own"),
        lambda: (base / "new").write_text("x"),
        lambda: Path(data_set).read_text(),
        lambda: Path("/etc/passwd").read_text(),
        lambda: Path(project).read_text(),
        lambda: Path("/proc/self/environ").read_bytes(),
        lambda: open("/proc/self/mem", "rb").close(),
        lambda: Path(f"/proc/{os.getppid()}/cmdline").read_bytes(),
        lambda: Path("/proc/meminfo").read_bytes(),
    ))]))
"""
MAY, MAY_NOT = ["done"] * 5, ["Permission denied"] * 14


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    base = tmp_path_factory.mktemp("base").resolve()
    for folder in ("own/trial", "own/scratch", "other", "data"):
        (base / folder).mkdir(parents=True)
    for name in ("own/trial/model.py", "other/secret", "secret"):
        (base / name).write_text("x")
    environment = clean_environment() | {"TMPDIR": str(base)}
    made = Nursery(["gc:collect"], environment, scratch=True)
    yield made, base
    made.close()


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("withheld", ["data", "own/trial/data"])
def test_prepared_grants_reach_no_further_than_others(nursery, locked, withheld):
    made, base = nursery
    names = {
        "locked": locked,
        "withheld": withheld,
        "data_set": str(Path(sklearn.__file__).parent / "datasets" / "data" / "iris.csv"),
        "project": str(Path(__file__)),
    }
    order = Order(
        entry="builtins:exec",
        arguments=(textwrap.dedent(CODE), names),
        cwd=base,
        environment=clean_environment(),
    )
    ended = supervise(made, order, Limits())
    assert ended.returncode == 0, ended.stderr.decode()
    expected = [withheld == "data", *MAY, *(MAY_NOT if locked else ["done"] * len(MAY_NOT))]
    assert (
        ended.stdout.decode()
        == str(expected).replace("'", '"').replace("True", "true").replace("False", "false") + "\n"
    )


def test_a_folder_in_the_place_of_the_prepared_one_is_not_taken_for_it(nursery):
    made, base = nursery
    base.rename(base.with_name("before"))
    (base / "own/trial").mkdir(parents=True)
    (base / "own/scratch").mkdir()
    (base / "own/trial/model.py").write_text("x")
    code = """
        from pathlib import Path
        from srh.sandbox.limits import Limits
        from srh.sandbox.lockdown import Confinement, lock_down

        own, scratch = Path("own/trial").absolute(), Path("own/scratch").absolute()
        lock_down(Confinement(read=(own,), scratch=scratch, limits=Limits()))
        (scratch / "new").write_text((own / "model.py").read_text())
    """
    order = Order(
        entry="builtins:exec",
        arguments=(textwrap.dedent(code), {}),
        cwd=base,
        environment=clean_environment(),
    )
    ended = supervise(made, order, Limits())
    assert ended.returncode == 0, ended.stderr.decode()
