"""A file system without room: a result is whole or absent, and the failure is loud.

The small file system is mounted in a mount namespace that only the commands of the test see.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from faults.rig import Ran

UNSHARE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
MOUNT = 'mount -t tmpfs -o "$OPTIONS" small "$PLACE" && cp -a "$CONTENT/." "$PLACE"'
FILL = 'dd if=/dev/zero of="$PLACE/filling" bs=4k 2> /dev/null || :'


def mounts_are_permitted() -> bool:
    if shutil.which("unshare") is None:
        return False
    attempt = [*UNSHARE, "sh", "-c", "mount -t tmpfs small /mnt"]
    return subprocess.run(attempt, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not mounts_are_permitted(), reason="no mount namespace is permitted here"
)


def in_small(rig, place, script, *, options):
    """Run a shell script in which `place` is a small file system; return it and its outputs.

    The script keeps what it wants to be seen in ``$KEPT``.
    """
    content, kept = rig.folder / "content", rig.folder / "kept"
    shutil.copytree(place, content)
    kept.mkdir()
    environment = rig.environment(
        OPTIONS=options, PLACE=str(place), CONTENT=str(content), KEPT=str(kept)
    )
    ended = subprocess.run(
        [*UNSHARE, "sh", "-c", f"{MOUNT} || exit 99\n{script}", "sh", *rig.command("--jobs", "1")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return kept


def outcome(kept, name):
    """Return how the run ended whose outputs the script has named so."""
    code = int((kept / f"{name}.code").read_text())
    return Ran(code, (kept / f"{name}.out").read_text(), (kept / f"{name}.err").read_text())


def run_as(name: str, *arguments: str) -> str:
    more = " ".join(arguments)
    return (
        f'"$@" {more} > "$KEPT/{name}.out" 2> "$KEPT/{name}.err"; '
        f'echo $? > "$KEPT/{name}.code"; find "$PLACE" > "$KEPT/{name}.files"; '
        f'cp "$PLACE/a/result.json" "$KEPT/{name}.result.json" 2> /dev/null || :\n'
    )


def test_results_that_find_no_room_are_absent_and_loud(rig):
    rig.add_formula("a", "param('a')*x + param('b')")
    script = f'{FILL}\n{run_as("full")}rm "$PLACE/filling"\n{run_as("roomy")}'
    kept = in_small(rig, rig.trials, script, options="size=256k")
    full, roomy = outcome(kept, "full"), outcome(kept, "roomy")
    assert full.code == 2
    assert full.table["a"]["outcome"] == "harness"
    assert "the result cannot be stored (No space left on device)" in full.table["a"]["reason"]
    files = (kept / "full.files").read_text()
    assert "result.json" not in files
    assert ".part" not in files
    assert roomy.code == 0
    assert roomy.table["a"]["outcome"] == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("options", ["size=256k", "size=1m,nr_inodes=9"])
def test_an_old_result_stays_where_the_new_one_finds_no_room(rig, options):
    """Without blocks for the content, and without an inode for the first new name."""
    rig.add_formula("a", "param('a')*x + param('b')")
    assert rig.run().code == 0
    before = (rig.trials / "a" / "result.json").read_bytes()
    script = f"{FILL}\n{run_as('full', '--force')}{run_as('after')}"
    kept = in_small(rig, rig.trials, script, options=options)
    assert outcome(kept, "full").code == 2
    assert (kept / "full.result.json").read_bytes() == before
    after = outcome(kept, "after")
    assert after.code == 0
    assert after.table["a"]["origin"] == "kept"


@pytest.mark.slow
def test_no_room_for_temporary_files_is_said_and_nothing_is_lost(rig):
    for name in ("a", "b"):
        rig.add_formula(name, "param('a')*x + param('b')")
    # Python itself takes another folder if this one has no room for a few bytes.
    fill = f'{FILL}\ntruncate -s -4k "$PLACE/filling"'
    script = f'{fill}\n{run_as("full")}rm "$PLACE/filling"\n{run_as("roomy")}'
    kept = in_small(rig, rig.temporary, script, options="size=64k")
    full = outcome(kept, "full")
    assert full.code == 2
    assert "Traceback" not in full.err
    assert {row["outcome"] for row in full.table.values()} == {"harness"}
    assert all("No space left" in row["reason"] for row in full.table.values())
    assert (kept / "full.files").read_text().splitlines() == [
        str(rig.temporary),
        str(rig.temporary / "filling"),
    ]
    assert outcome(kept, "roomy").code == 0


def test_a_look_that_finds_no_room_is_refused_and_leaves_the_count_whole(rig):
    """The kernel takes as much of a line as there is room for, and calls that a success."""
    vault = rig.folder / "xdg" / "srh"
    (vault / "holdout").mkdir(parents=True)
    code = (
        "from srh.vault import holdout_looks, record_holdout_look as look; import sys\n"
        "print(look('sha256:aa', {'n': 'x' * 100}))\n"
        "try:\n    print(look('sha256:aa', {'n': 'y' * 5000}))\n"
        "except Exception as error:\n    print(type(error).__name__)\n"
        "print(len(holdout_looks('sha256:aa')))\n"
    )
    (rig.folder / "look.py").write_text(code)
    script = f'"$1" "{rig.folder}/look.py" > "$KEPT/said" 2>&1 || cat "$KEPT/said" >&2'
    fill_first = (
        '"$1" -c "from srh.vault import record_holdout_look as look; look(\'sha256:aa\', {})"\n'
    )
    kept = in_small(rig, vault, f"{fill_first}{FILL}\n{script}", options="size=64k")
    assert (kept / "said").read_text().split() == ["2", "HarnessError", "2"]
