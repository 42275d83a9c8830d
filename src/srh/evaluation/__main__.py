"""The child, by hand: ``python -m srh.evaluation in.json out.json``.

It starts itself again in a clean environment, so that whoever asks gets the same numbers, and then
evaluates as every caller does. Exit code 0: ``out.json`` holds a result, a failed trial's included;
2: the request cannot be carried out, and standard error says why.
"""

from __future__ import annotations

import sys

from srh.environment import ensure_clean

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
    from srh.errors import SrhError

    try:
        _evaluate(*paths, unsafe=UNSAFE in arguments)
    except SrhError as error:
        sys.stderr.write(f"srh.evaluation: {error}\n")
        return 2
    return 0


def _evaluate(request_name: str, result_name: str, *, unsafe: bool) -> None:
    from pathlib import Path

    import msgspec

    from srh.context import digest_data
    from srh.errors import HarnessError, UsageError
    from srh.evaluation.child import REQUEST_LIMIT
    from srh.evaluation.protocol import read_request
    from srh.evaluation.runner import run_request
    from srh.files import read_regular, write_whole
    from srh.formats import pretty_json
    from srh.tasks import declared_data
    from srh.trials import read_source, refuse_own_pickle

    path = Path(request_name)
    folder = path.resolve().parent
    request = read_request(read_regular(path, REQUEST_LIMIT), str(path))
    if request.sandbox == "unsafe" and not unsafe:
        raise UsageError(
            f"{path}: asks to run code of a trial without a sandbox; if you want that, add {UNSAFE}"
        )
    data = folder / request.dataset_path
    refuse_own_pickle(folder / request.trial_dir, data)
    source = read_source(folder / request.trial_dir)
    if source.kind != "outputs":
        request = msgspec.structs.replace(request, data=request.data or declared_data(data))
    request = msgspec.structs.replace(
        request,
        dataset_path=str(data.resolve()),
        task_dir=None if request.task_dir is None else str(folder / request.task_dir),
    )
    evaluation = run_request(request, source, data=digest_data(data))
    sys.stdout.write(evaluation.stdout)
    sys.stderr.write(evaluation.stderr)
    if evaluation.result.outcome == "harness":
        raise HarnessError(evaluation.result.error or "no result")
    try:
        write_whole(result_name, pretty_json(evaluation.result))
    except OSError as error:
        raise HarnessError(f"{result_name}: cannot be written ({error.strerror})") from error


if __name__ == "__main__":
    ensure_clean("srh.evaluation")
    sys.exit(main(sys.argv[1:]))
