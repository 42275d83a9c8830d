"""The child: ``python -m srh.evaluation in.json out.json``.

Run by hand it starts itself again in the same clean environment that the parent gives it, so that
both get the same numbers. Exit code 0: ``out.json`` holds a result, a failed trial's included;
2: the request cannot be carried out, and standard error says why.
"""

from __future__ import annotations

import os
import sys

from srh.evaluation.environment import PARENT_VARIABLE, ensure_clean

REQUEST_LIMIT = 512 << 20
UNSAFE = "--unsafe-no-sandbox"
"""Asks for what a request alone must not get: anybody may have written that."""


def main(arguments: list[str]) -> int:
    """Evaluate one request.

    Args:
        arguments: Paths of the request and of the result to write, and perhaps `UNSAFE`.

    Returns:
        The exit code.
    """
    paths = [argument for argument in arguments if argument != UNSAFE]
    if len(paths) != 2:
        sys.stderr.write(f"usage: python -m srh.evaluation in.json out.json [{UNSAFE}]\n")
        return 2
    parent = os.environ.get(PARENT_VARIABLE, "")
    if parent.isdigit():
        from srh.sandbox.limits import die_with_parent

        die_with_parent(int(parent))
    from srh.errors import SrhError

    try:
        _evaluate(*paths, unsafe=UNSAFE in arguments)
    except SrhError as error:
        sys.stderr.write(f"srh.evaluation: {error}\n")
        return 2
    return 0


def _evaluate(request_name: str, result_name: str, *, unsafe: bool) -> None:
    from pathlib import Path

    from srh.errors import HarnessError, UsageError
    from srh.evaluation.child import evaluate_request
    from srh.evaluation.protocol import read_request
    from srh.files import read_regular, write_whole
    from srh.formats import pretty_json
    from srh.sandbox.limits import apply_limits

    path = Path(request_name)
    request = read_request(read_regular(path, REQUEST_LIMIT), str(path))
    if request.sandbox == "unsafe" and not unsafe:
        raise UsageError(
            f"{path}: asks to run code of a trial without a sandbox; if you want that, add {UNSAFE}"
        )
    ensure_clean("srh.evaluation", request.limits.threads)
    apply_limits(request.limits)
    result = evaluate_request(request, path.resolve().parent)
    try:
        write_whole(result_name, pretty_json(result))
    except OSError as error:
        raise HarnessError(f"{result_name}: cannot be written ({error.strerror})") from error


if __name__ == "__main__":
    ensure_clean("srh.evaluation")
    sys.exit(main(sys.argv[1:]))
