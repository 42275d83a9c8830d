"""Verdicts of `srh verify` as lines, as JSON, and as an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srh.formats import pretty_json
from srh.report.verify import Verification
from srh.text import one_line

if TYPE_CHECKING:
    from rich.console import Console


def print_verification(verification: Verification, console: Console) -> None:
    """Print one verdict with what it rests on."""
    sealed = "; was unverified, is verified now" if verification.newly_sealed else ""
    console.print(f"{one_line(verification.trial)}: {verification.verdict}{sealed}", soft_wrap=True)
    for detail in verification.details:
        console.print(f"  {one_line(detail, 600)}", soft_wrap=True)


def verifications_json(verifications: Sequence[Verification]) -> str:
    """Return verdicts as strict JSON."""
    return pretty_json(list(verifications)).decode()


def exit_code(verifications: Sequence[Verification]) -> int:
    """Return 1 if a result is different, else 2 if one could not be verified, else 0."""
    verdicts = {verification.verdict for verification in verifications}
    if "different" in verdicts:
        return 1
    return 2 if "not verified" in verdicts else 0
