"""What the template of scorers imports, and uses once, before anything is forked from it."""

from __future__ import annotations

import importlib
from typing import Final

_MODULES: Final = (
    "importlib.metadata",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.special",
    "srh.engine",
    "srh.evaluation.child",
    "srh.evaluation.formula_trial",
    "srh.evaluation.model_trial",
)


def prepare() -> None:
    """Import what judging takes, and use it once: that loads and allocates the rest."""
    for name in _MODULES:
        importlib.import_module(name)
    from srh.threads import find_pools

    find_pools()
    _use()


def _use() -> None:
    import numpy as np

    from srh.engine import fit, parse
    from srh.evaluation.provenance import describe_platform, versions

    # Linear algebra allocates its buffers at its first use; denied them later, it ends the process.
    np.linalg.qr(np.ones((64, 64)) @ np.eye(64))
    x = np.linspace(1.0, 2.0, 20)
    describe_platform()
    versions(())
    fit(parse("param('a') * exp(param('b') * x)"), np.exp(x), {"x": x})
