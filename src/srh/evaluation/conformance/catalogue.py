"""The one list of checks: the sandbox's own, and those of the whole chain."""

from __future__ import annotations

from typing import Final

from srh.evaluation.conformance import bounds, forgeries, honest, leftovers, outcomes, sameness
from srh.sandbox.probe import CHECKS, Check

CHAIN_CHECKS: Final[tuple[Check, ...]] = (
    *outcomes.CHECKS,
    *bounds.CHECKS,
    *forgeries.CHECKS,
    *leftovers.CHECKS,
    *sameness.CHECKS,
    *honest.CHECKS,
)
"""The checks of the whole chain."""


def _by_group(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Return checks with those of a group together, groups in the order of their first one."""
    groups = list(dict.fromkeys(check.group for check in checks))
    # What need not hold comes last.
    groups.sort(key=lambda group: group == "optional")
    return tuple(check for group in groups for check in checks if check.group == group)


EVERY_CHECK: Final = _by_group((*CHECKS, *CHAIN_CHECKS))
"""Every check, in the order in which `srh doctor` runs and shows them, and the tests too."""
