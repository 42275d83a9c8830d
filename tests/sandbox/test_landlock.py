from __future__ import annotations

import pytest

from confined import run_confined, run_free
from srh.errors import HarnessError
from srh.sandbox import landlock
from srh.sandbox.landlock import Grant

OLD = "from srh.sandbox import landlock; landlock.abi = lambda: {abi}"
NEWEST = landlock.abi()
TRY = """
    import errno
    def tried(act):
        try:
            act()
            return "done"
        except OSError as error:
            return errno.errorcode[error.errno]
"""


@pytest.mark.parametrize(
    ("abi", "newest_right"),
    [
        (1, landlock.MAKE_SYM),
        (2, landlock.REFER),
        (3, landlock.TRUNCATE),
        (4, landlock.TRUNCATE),
        (5, landlock.IOCTL_DEV),
        (7, landlock.IOCTL_DEV),
        (99, landlock.IOCTL_DEV),
    ],
)
def test_rights_are_masked_by_version(abi, newest_right):
    handled = landlock.handled_rights(abi)
    assert handled & newest_right
    assert not handled & (newest_right << 1)
    assert handled & landlock.EXECUTE


@pytest.mark.parametrize("abi", range(1, NEWEST + 1))
def test_every_version_confines_files(abi, tmp_path):
    """What an early version does not know, the filter of system calls closes."""
    scratch, given = tmp_path / "scratch", tmp_path / "given"
    scratch.mkdir()
    given.mkdir()
    (given / "file").write_text("content")
    (tmp_path / "secret").write_text("secret")
    snippet = (
        TRY
        + f"""
    import os, socket
    given = {str(given / "file")!r}
    print(tried(lambda: open({str(tmp_path / "secret")!r})), end=" ")
    print(tried(lambda: open(given, "w")), end=" ")
    print(tried(lambda: os.truncate(given, 0)), end=" ")
    print(tried(lambda: os.open(given, os.O_RDONLY | os.O_TRUNC)), end=" ")
    print(tried(lambda: os.open(given, 3 | os.O_TRUNC)), end=" ")
    print(tried(lambda: socket.socket()), end=" ")
    os.makedirs("a/b"); open("a/b/c", "w").write("long"); open("a/b/c", "w").write("x")
    open("a/b/c", "r+").truncate(1)
    print(open(given).read(), open("a/b/c").read())
    """
    )
    ran = run_confined(snippet, scratch, read=(given,), before=OLD.format(abi=abi))
    refused = "EACCES" if abi >= 3 else "ETXTBSY"
    assert str(ran) == f"EACCES EACCES {refused} {refused} {refused} EAFNOSUPPORT content x"
    assert (given / "file").read_text() == "content"


RESTRICTED = """
    import os, socket
    from srh.sandbox import landlock
    from srh.sandbox.kernel import prctl
    from srh.sandbox.landlock import Grant
    prctl(38, 1)
    given = Grant({granted!r}, landlock.READ, required=True)
    landlock.enforce(landlock.build([given, Grant("/no/such", landlock.READ)], {abi}))
"""


@pytest.mark.skipif(NEWEST < landlock.SCOPE_ABI, reason="Landlock here has no scopes")
def test_the_newest_version_holds_network_and_signals_by_itself(tmp_path):
    attempts = """
    listener = socket.socket(socket.AF_UNIX)
    print(tried(lambda: socket.socket().bind(("127.0.0.1", 0))), end=" ")
    print(tried(lambda: socket.socket(socket.AF_UNIX).connect("\\0" + abstract)), end=" ")
    print(tried(lambda: os.kill(os.getppid(), 0)), end=" ")
    print(tried(lambda: os.kill(os.getpid(), 0)))
    """
    import socket

    name = f"srh-test-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        common = f"import os, socket\nabstract = {name!r}\n"
        free = run_free(_dedented(TRY) + common + _dedented(attempts), tmp_path)
        bound = _dedented(TRY) + _dedented(RESTRICTED).format(granted=str(tmp_path), abi=NEWEST)
        held = run_free(bound + common + _dedented(attempts), tmp_path)
    assert str(free) == "done done done done"
    assert str(held) == "EACCES EPERM EPERM done"


def test_a_missing_path_matters_only_if_required(tmp_path):
    ran = run_free(
        _dedented(RESTRICTED).format(granted=str(tmp_path / "none"), abi=NEWEST), tmp_path
    )
    assert "FileNotFoundError" in ran.err
    assert (
        run_free(_dedented(RESTRICTED).format(granted=str(tmp_path), abi=NEWEST), tmp_path).code
        == 0
    )


def test_links_in_what_is_given_lead_nowhere(tmp_path):
    scratch, given = tmp_path / "scratch", tmp_path / "given"
    scratch.mkdir()
    (given / "hole").mkdir(parents=True)
    (given / "hole" / "labels").write_text("labels")
    (tmp_path / "secret").write_text("secret")
    (given / "link").symlink_to(tmp_path / "secret")
    (given / "inwards").symlink_to(given / "hole")
    (given / "file").write_text("content")
    names = ("file", "link", "inwards/labels", "hole/labels")
    snippet = (
        TRY
        + f"""
    for name in {names!r}:
        print(tried(lambda: open({str(given)!r} + "/" + name)), end=" ")
    """
    )
    whole = run_confined(snippet, scratch, read=(given,))
    around = run_confined(snippet, scratch, read=(given,), withheld=(given / "hole",))
    assert str(whole) == "done EACCES done done"
    assert str(around) == "done EACCES EACCES EACCES"


def test_a_link_is_no_folder_to_read_or_write(tmp_path):
    from pathlib import Path

    from srh.sandbox.readable import readable

    (tmp_path / "link").symlink_to("/")
    with pytest.raises(HarnessError, match="is a link"):
        list(readable((tmp_path / "link",), ()))
    ran = run_confined("", tmp_path / "link")
    assert "the scratch folder is a link" in ran.err
    assert Path("/") not in [Path(grant.path) for grant in readable((), ())]


def test_a_grant_on_a_file_asks_only_for_rights_that_files_have(tmp_path):
    (tmp_path / "file").write_text("x")
    snippet = f"import sys; open({str(tmp_path / 'file')!r}); print('read')"
    (tmp_path / "scratch").mkdir()
    assert str(run_confined(snippet, tmp_path / "scratch", read=(tmp_path / "file",))) == "read"
    assert Grant("x", landlock.SCRATCH).rights & landlock.MAKE_SYM == 0


def _dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text)
