"""What the template of scorers imports, and uses once, before anything is forked from it."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path
from typing import Final

_MODULES: Final = (
    "importlib.metadata",
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

    from srh.evaluation.provenance import describe_platform, versions

    # Linear algebra allocates its buffers at its first use; denied them later, it ends the process.
    np.linalg.qr(np.ones((64, 64)) @ np.eye(64))
    describe_platform()
    versions(())
    with tempfile.TemporaryDirectory() as name:
        _judge_a_formula(Path(name))


def _judge_a_formula(folder: Path) -> None:
    """Do what a scorer does, on numbers of no meaning."""
    import numpy as np

    from srh.context import load_dataset
    from srh.evaluation.formula_trial import FormulaContender
    from srh.evaluation.protocol import read_request
    from srh.evaluation.scorer import score
    from srh.formats import pretty_json
    from srh.tasks import declared_data
    from srh.trials import read_source

    x = np.linspace(1.0, 2.0, 20)
    np.savez(folder / "data.npz", X=x[:, None], y=np.exp(x))
    (folder / "trial.toml").write_text('kind = "formula"\n', encoding="ascii")
    (folder / "formula.txt").write_text("param('a') * exp(param('b') * x0)\n", encoding="ascii")
    asked = {
        "trial_dir": ".",
        "dataset_path": "data.npz",
        "metrics": ["r2", "rmse"],
        "partitions": [[list(range(15)), list(range(15, 20))]],
        "tolerance": 1e-9,
    }
    request = read_request(json.dumps(asked).encode(), "in.json")
    dataset = load_dataset(folder / "data.npz", declared_data(folder / "data.npz"))
    content = read_source(folder).files["formula.txt"]
    pretty_json(score(request, dataset, FormulaContender(content, request, dataset)))
