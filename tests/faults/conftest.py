"""What the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.rig import Rig, make_rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """A project without trials; the sealing key lies where the tests themselves look for it."""
    (tmp_path / "rig").mkdir()
    (tmp_path / "rig" / "xdg").symlink_to(tmp_path / "xdg")
    (tmp_path / "xdg").mkdir()
    return make_rig(tmp_path / "rig")
