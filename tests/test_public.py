from __future__ import annotations

import subprocess
import sys

import pytest

import srh
import srh.evaluation


@pytest.mark.parametrize("package", [srh, srh.evaluation])
def test_every_public_name_is_there(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("srh", ["numpy", "msgspec", "typing"]),
        ("srh.environment", ["numpy", "msgspec", "typing", "json"]),
        ("srh.engine", ["scipy", "sympy", "sklearn"]),
        ("srh.cli", ["numpy", "scipy", "sklearn", "sympy", "joblib", "msgspec"]),
        ("srh.evaluation.runner", ["scipy", "sympy", "sklearn", "joblib", "rich"]),
    ],
)
def test_imports_stay_light(module, heavy):
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    already = subprocess.run(
        [sys.executable, "-c", f"import sys; print([m for m in {heavy!r} if m in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == already.stdout
