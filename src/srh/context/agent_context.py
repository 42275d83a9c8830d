"""What an agent, an evaluator and a fit look at: data with a target, and its two split views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from srh.context.data import Dataset, no_such_column, row_index
from srh.errors import DataError, FormatError

SplitMethod = Literal["random", "ood", "chronological"]


class Splitter(Protocol):
    """What a context needs of its evaluator: an instance, or a class with class methods."""

    def split(self, context: AgentContext, /) -> Mapping[str, AgentContext]:
        """Return exactly ``{"train": …, "validation": …}``, made with `AgentContext.take`."""
        ...


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How an evaluator should split a context.

    Attributes:
        method: Rows at random, the far end of a variable (out of distribution), or the latest rows.
        validation_fraction: Share of the rows that validate, strictly between 0 and 1.
        seed: Seed of a random split, not negative.
        ood_variable: Column whose extreme values are left for validation by ``"ood"``.
        time: Column that orders the rows for ``"chronological"``. ``None``: rows are in order.

    Raises:
        DataError: A value is out of its range.
    """

    method: SplitMethod = "random"
    validation_fraction: float = 0.25
    seed: int = 0
    ood_variable: str | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        if self.method not in get_args(SplitMethod):
            known = ", ".join(repr(name) for name in get_args(SplitMethod))
            raise DataError(f"split method {self.method!r} is unknown; use one of {known}")
        if not 0 < self.validation_fraction < 1:
            raise DataError(
                f"validation_fraction is {self.validation_fraction}; it must lie between 0 and 1, "
                "both excluded: without validation rows nothing is validated"
            )
        if self.seed < 0:
            raise DataError(f"seed is {self.seed}; it must not be negative")


class AgentContext:
    """Sample-aligned data with a target and the evaluator that judges formulas of it.

    `train_split` and `validation_split` come from one call of ``evaluator.split(self)`` and are
    kept until an attribute, or an entry of `data`, is set anew. Numbers changed inside an array are
    not noticed: call `invalidate_split` after that.

    Attributes:
        data: Arrays by name. Those whose first dimension equals `n_samples` are aligned with the
            samples; all others are shared tables, which views carry along whole.
        target: Name of the array to be explained.
        evaluator: Splits this context (see `Splitter`).
        args: How to split.
        num_nodes: Number of nodes of graph data, if it is such.
        variables: What each array means, in words.
    """

    data: Mapping[str, NDArray[Any]]
    target: str
    evaluator: Splitter | None
    args: SplitOptions
    num_nodes: int | None
    variables: Mapping[str, str]

    def __init__(
        self,
        data: Mapping[str, Any],
        target: str,
        *,
        evaluator: Splitter | None = None,
        args: SplitOptions | None = None,
        rows: Sequence[int] | NDArray[Any] | None = None,
        num_nodes: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Make a context; what ``data`` holds is not copied where it is arrays already.

        Raises:
            DataError: The target is no array of ``data``, or ``rows`` has another length.
        """
        self.data = data
        self.target = target
        self.evaluator = evaluator
        self.args = args or SplitOptions()
        self.num_nodes = num_nodes
        self.variables = dict(variables or {})
        n_samples = self.n_samples
        self._rows = np.arange(n_samples) if rows is None else np.asarray(rows, dtype=np.int64)
        if self._rows.shape != (n_samples,):
            raise DataError(f"rows has shape {self._rows.shape} for {n_samples} samples")

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        *,
        evaluator: Splitter | None = None,
        args: SplitOptions | None = None,
    ) -> AgentContext:
        """Return a root context of a dataset's target and features, without copying them."""
        return cls(dataset.columns, dataset.target, evaluator=evaluator, args=args)

    @property
    def n_samples(self) -> int:
        """First dimension of the target's array.

        Raises:
            DataError: The target is not there, or has no dimension.
        """
        if self.target not in self.data:
            raise no_such_column(self.target, list(self.data), "target")
        values = self.data[self.target]
        if values.ndim == 0:
            raise DataError(f"the target {self.target!r} is a single number, not one per sample")
        return len(values)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Where each sample stands in the root that this view was taken from, ``(n_samples,)``.

        The rows of a root, or of a context given data of another length, are 0, 1, … n-1.
        """
        n_samples = self.n_samples
        if len(self._rows) != n_samples:
            self._rows = np.arange(n_samples, dtype=np.int64)
        return self._rows

    @property
    def train_split(self) -> AgentContext:
        """The view that parameters are fitted on.

        Raises:
            FormatError: The evaluator does not return two views.
            DataError: There is no evaluator, or it cannot split these data.
        """
        return self._splits()["train"]

    @property
    def validation_split(self) -> AgentContext:
        """The view that fitted expressions are judged on; errors as for `train_split`."""
        return self._splits()["validation"]

    def take(self, rows: Sequence[int] | NDArray[Any]) -> AgentContext:
        """Return a view of the samples at ``rows``, counted within this context, in that order.

        Args:
            rows: 0-based positions, shape ``(m,)``; repeats are allowed.

        Raises:
            DataError: Not whole numbers, or out of range.
        """
        n_samples = self.n_samples
        index = row_index(rows, n_samples)
        data = {
            name: array[index] if array.shape[:1] == (n_samples,) else array
            for name, array in self.data.items()
        }
        return self._derived(data, self.rows[index])

    def with_data(self, data: Mapping[str, Any]) -> AgentContext:
        """Return a context of other arrays for the same samples, with columns added or changed.

        Raises:
            DataError: The number of samples differs, or the target is missing.
        """
        return self._derived(data, self.rows)

    def invalidate_split(self) -> None:
        """Forget the two views; the next access splits again."""
        self._split = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "data":
            value = {key: np.asarray(array) for key, array in value.items()}
        if not name.startswith("_"):
            object.__setattr__(self, "_split", None)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<AgentContext {self.target!r}: {self.n_samples} samples of {', '.join(self.data)}>"

    def _derived(self, data: Mapping[str, Any], rows: NDArray[np.int64]) -> AgentContext:
        return type(self)(
            data,
            self.target,
            evaluator=self.evaluator,
            args=self.args,
            rows=rows,
            num_nodes=self.num_nodes,
            variables=self.variables,
        )

    def _splits(self) -> Mapping[str, AgentContext]:
        """Return the two views, splitting only where `data` is not what was split last."""
        if self._split is not None and _same_arrays(self._split[0], self.data):
            return self._split[1]
        if self.evaluator is None:
            raise DataError("the context has no evaluator to split it; set context.evaluator")
        # The arrays are kept, not their ids: an id may come back with another array.
        before = dict(self.data)
        views = check_split(self.evaluator.split(self), self.evaluator)
        self._split = (before, views)
        return views

    _rows: NDArray[np.int64]
    _split: tuple[dict[str, NDArray[Any]], Mapping[str, AgentContext]] | None


def check_split(views: Any, evaluator: Any) -> dict[str, AgentContext]:
    """Return what an evaluator's ``split`` returned, if it keeps the contract.

    Raises:
        FormatError: It is no mapping of exactly train and validation to contexts with samples.
    """
    kind = evaluator if isinstance(evaluator, type) else type(evaluator)
    where = f"{kind.__name__}.split"
    if not isinstance(views, Mapping) or set(views) != {"train", "validation"}:
        given = sorted(map(str, views)) if isinstance(views, Mapping) else type(views).__name__
        raise FormatError(
            where, [f"must return exactly {{'train': …, 'validation': …}}, not {given}"]
        )
    problems = [
        f"{name}: must be an AgentContext, not {type(view).__name__}"
        if not isinstance(view, AgentContext)
        else f"{name}: has no samples"
        for name, view in views.items()
        if not isinstance(view, AgentContext) or view.n_samples == 0
    ]
    if problems:
        raise FormatError(where, problems)
    return dict(views)


def _same_arrays(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)
