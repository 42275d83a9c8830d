"""References to host evaluators: functions in files of a task's own folder. Nothing is run here."""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from srh.files import FileRefusedError, read_regular

FILE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class HostRef:
    """``path/to/file.py:function``.

    Attributes:
        path: The file, relative to the task's folder and inside it.
        function: Name of a function in it.
    """

    path: str
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.function}"


def is_host_ref(text: str) -> bool:
    """Tell whether a reference means a file, not an evaluator's name."""
    return ":" in text or "/" in text or text.endswith(".py")


def parse_ref(text: str) -> HostRef | str:
    """Return a reference to a host evaluator, or what is wrong with it."""
    path, separator, function = text.rpartition(":")
    relative = PurePosixPath(path)
    if not separator or relative.suffix != ".py":
        return "must be path/to/file.py:function"
    if relative.is_absolute() or ".." in relative.parts or "\\" in path or "\0" in path:
        return f"the file must stay inside the task's folder, not {path!r}"
    if not function.isidentifier() or keyword.iskeyword(function):
        return f"{function!r} cannot be the name of a function"
    return HostRef(str(relative), function)


def read_host(folder: Path, ref: HostRef) -> bytes:
    """Return the content of a host evaluator's file, following no link.

    Raises:
        FileRefusedError: It is missing, a link leads to it or away from it, or it is too large.
    """
    path = folder / ref.path
    if path.resolve() != folder.resolve() / ref.path:
        raise FileRefusedError(f"{ref.path}: a link on the way; host evaluators are plain files")
    return read_regular(path, FILE_LIMIT)


def host_problem(folder: Path, ref: HostRef) -> str | None:
    """Return what keeps a host evaluator from being called, as far as its text tells."""
    try:
        content = read_host(folder, ref)
    except FileRefusedError as error:
        return str(error)
    try:
        tree = ast.parse(content, ref.path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{ref.path} is no Python ({error})"
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if ref.function not in defined:
        listed = ", ".join(defined) or "none"
        return f"{ref.path} defines no function {ref.function!r} (functions there: {listed})"
    return None
