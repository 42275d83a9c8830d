"""What an agent, an evaluator and a fit look at: data with a target, and its two split views."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from srh.context.columns import Columns
from srh.context.data import Dataset, no_such_column, row_index
from srh.context.split_options import SplitOptions
from srh.errors import DataError, FormatError
from srh.text import did_you_mean

T = TypeVar("T")

# What no split rests on.
_BESIDE_THE_SPLIT = frozenset({"workspace", "variables"})


class Splitter(Protocol):
    """What a context needs of its evaluator: an instance, or a class with class methods."""

    def split(self, context: AgentContext, /) -> Mapping[str, AgentContext]:
        """Return exactly ``{"train": …, "validation": …}``, made with `AgentContext.take`."""
        ...


class AgentContext:
    """Sample-aligned data with a target and the evaluator that judges formulas of it.

    `train_split` and `validation_split` come from one call of ``evaluator.split(self)`` and are
    kept until an attribute that they rest on, or an entry of `data`, is set anew. Numbers changed
    inside an array are not noticed: call `invalidate_split` after that.

    The samples run along the target's first axis. Another array has them too if its first axis is
    the same one: by name where `axes` names both, else by length. Relations never have them, nor
    has an array whose only axis follows a relation. What has no samples is a shared table, which
    views carry along whole. Views copy nothing until a column of theirs is used, and rows that
    follow each other not even then.

    Attributes:
        data: Arrays by name.
        target: Name of the array to be explained.
        evaluator: Splits this context (see `Splitter`).
        args: How to split.
        num_nodes: Number of nodes of graph data, if it is such.
        relation_names: Arrays that are relations: ``(E, 2)`` or ``(H, 3)``, target first.
        structures: For arrays with one value per row of a relation (last axis), that relation.
        axes: Names of an array's axes, as far as they are known.
        variables: What each array means, in words.
        workspace: Folder in which tools may work.
    """

    __slots__ = (
        "_memo",
        "_rows",
        "_split",
        "args",
        "axes",
        "data",
        "evaluator",
        "num_nodes",
        "relation_names",
        "structures",
        "target",
        "variables",
        "workspace",
    )

    data: Columns
    target: str
    evaluator: Splitter | None
    args: SplitOptions
    num_nodes: int | None
    relation_names: tuple[str, ...]
    structures: Mapping[str, str]
    axes: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, str]
    workspace: Path | None
    _rows: NDArray[np.int64] | None
    _split: tuple[int, Mapping[str, AgentContext]] | None
    _memo: tuple[int, dict[Hashable, Any]] | None

    def __init__(  # noqa: PLR0913 - a context is what it holds
        self,
        data: Mapping[str, Any],
        target: str,
        *,
        evaluator: Splitter | None = None,
        args: SplitOptions | None = None,
        rows: Sequence[int] | NDArray[Any] | None = None,
        num_nodes: int | None = None,
        relation_names: Iterable[str] = (),
        structures: Mapping[str, str] | None = None,
        axes: Mapping[str, Sequence[str]] | None = None,
        variables: Mapping[str, str] | None = None,
        workspace: Path | None = None,
    ) -> None:
        """Make a context; what ``data`` holds is not copied where it is arrays already.

        Raises:
            DataError: The target is no array of ``data``, ``rows`` has another length, or what is
                said of an array contradicts the data.
        """
        self.data = data if isinstance(data, Columns) else Columns(data)
        self.target = target
        self.evaluator = evaluator
        self.args = args or SplitOptions()
        self.num_nodes = num_nodes
        self.relation_names = tuple(relation_names)
        self.structures = dict(structures or {})
        self.axes = {name: tuple(names) for name, names in (axes or {}).items()}
        self.variables = dict(variables or {})
        self.workspace = workspace
        n_samples = self.n_samples
        self._check_structure()
        self._rows = None if rows is None else np.asarray(rows, dtype=np.int64)
        if self._rows is not None and self._rows.shape != (n_samples,):
            raise DataError(f"rows has shape {self._rows.shape} for {n_samples} samples")

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        *,
        evaluator: Splitter | None = None,
        args: SplitOptions | None = None,
    ) -> AgentContext:
        """Return a root context of a dataset's target, features and structured arrays.

        None of them is copied.
        """
        told = dataset.structured
        return cls(
            {**dataset.columns, **told.arrays},
            dataset.target,
            evaluator=evaluator,
            args=args,
            num_nodes=told.num_nodes,
            relation_names=told.relation_names,
            structures=told.structures,
            axes=told.axes,
            variables=told.descriptions,
        )

    @property
    def n_samples(self) -> int:
        """First dimension of the target's array.

        Raises:
            DataError: The target is not there, or has no dimension.
        """
        if self.target not in self.data:
            raise no_such_column(self.target, list(self.data), "target")
        shape = self.data.shape(self.target)
        if not shape:
            raise DataError(f"the target {self.target!r} is a single number, not one per sample")
        return shape[0]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Where each sample stands in the root that this view was taken from, ``(n_samples,)``.

        The rows of a root, or of a context given data of another length, are 0, 1, … n-1.
        """
        n_samples = self.n_samples
        if self._rows is None or len(self._rows) != n_samples:
            return np.arange(n_samples, dtype=np.int64)
        return self._rows

    @property
    def is_view(self) -> bool:
        """Whether `rows` count in another context."""
        return self._rows is not None

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

    def aligned(self) -> frozenset[str]:
        """Return the names of the arrays that have the samples as their first axis.

        Raises:
            DataError: It cannot be told whether an array's only axis are samples or nodes.
        """
        n_samples = self.n_samples
        return frozenset(name for name in self.data if self._is_aligned(name, n_samples))

    def take(self, rows: Sequence[int] | NDArray[Any]) -> AgentContext:
        """Return a view of the samples at ``rows``, counted within this context, in that order.

        Args:
            rows: 0-based positions, shape ``(m,)``; repeats are allowed.

        Raises:
            DataError: Not whole numbers, out of range, or see `aligned`.
        """
        index = row_index(rows, self.n_samples)
        rows = self.rows[index] if self.is_view else index
        return self._derived(self.data.take(index, self.aligned()), rows)

    def with_data(self, data: Mapping[str, Any]) -> AgentContext:
        """Return a context of other arrays for the same samples, with columns added or changed.

        Raises:
            DataError: The number of samples differs, or the target is missing.
        """
        return self._derived(Columns(data), self.rows)

    def invalidate_split(self) -> None:
        """Forget the two views, and what was worked out once; the next access splits again."""
        self._split = None
        self._memo = None

    def once(self, key: Hashable, work_out: Callable[[AgentContext], T]) -> T:
        """Return what is worked out once from this context, and kept as long as its views are.

        Args:
            key: Names it.
            work_out: Called with this context, the first time.
        """
        changes = self.data.changes
        if self._memo is None or self._memo[0] != changes:
            self._memo = (changes, {})
        known = self._memo[1]
        if key not in known:
            known[key] = work_out(self)
        found: T = known[key]
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in AgentContext.__slots__:
            raise AttributeError(
                f"an AgentContext has no attribute {name!r}"
                + did_you_mean(name, (slot for slot in AgentContext.__slots__ if slot[0] != "_"))
            )
        if name == "data" and not isinstance(value, Columns):
            value = Columns(value)
        if not name.startswith("_") and name not in _BESIDE_THE_SPLIT:
            object.__setattr__(self, "_split", None)
            object.__setattr__(self, "_memo", None)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<AgentContext {self.target!r}: {self.n_samples} samples of {', '.join(self.data)}>"

    def _derived(self, data: Columns, rows: NDArray[np.int64]) -> AgentContext:
        told = data.keys()
        return type(self)(
            data,
            self.target,
            evaluator=self.evaluator,
            args=self.args,
            rows=rows,
            num_nodes=self.num_nodes,
            relation_names=[name for name in self.relation_names if name in told],
            structures={name: other for name, other in self.structures.items() if name in told},
            axes={name: names for name, names in self.axes.items() if name in told},
            variables=self.variables,
            workspace=self.workspace,
        )

    def _is_aligned(self, name: str, n_samples: int) -> bool:
        shape = self.data.shape(name)
        if name == self.target:
            return True
        if shape[:1] != (n_samples,) or name in self.relation_names:
            return False
        if name in self.axes and self.target in self.axes:
            return self.axes[name][0] == self.axes[self.target][0]
        if name in self.structures and len(shape) == 1:
            return False
        if (
            len(shape) == 1
            and n_samples == self.num_nodes
            and len(self.data.shape(self.target)) > 1
        ):
            raise DataError(
                f"{name!r} has {n_samples} values, and there are as many samples as nodes: name "
                f"the axes of {name!r} and of the target {self.target!r} in `axes`"
            )
        return True

    def _check_structure(self) -> None:
        """Refuse what is said of arrays that are not there or have other axes."""
        problems = [
            f"{what} names {name!r}, which is no array of the data{did_you_mean(name, self.data)}"
            for what, names in (
                ("relation_names", self.relation_names),
                ("structures", self.structures),
                ("axes", self.axes),
            )
            for name in names
            if name not in self.data
        ]
        problems += [
            f"{name!r} follows {relation!r}, which is no relation"
            for name, relation in self.structures.items()
            if relation not in self.relation_names
        ]
        problems += [
            f"{name!r} has {len(self.data.shape(name))} axes, and {len(names)} names for them"
            for name, names in self.axes.items()
            if name in self.data and len(self.data.shape(name)) != len(names)
        ]
        if problems:
            raise DataError("; ".join(problems))

    def _splits(self) -> Mapping[str, AgentContext]:
        """Return the two views, splitting only where `data` are not what was split last."""
        changes = self.data.changes
        if self._split is not None and self._split[0] == changes:
            return self._split[1]
        if self.evaluator is None:
            raise DataError("the context has no evaluator to split it; set context.evaluator")
        views = check_split(self.evaluator.split(self), self.evaluator, self)
        self._split = (changes, views)
        return views


def check_split(views: Any, evaluator: Any, context: AgentContext) -> dict[str, AgentContext]:
    """Return what an evaluator's ``split`` returned, if it keeps the contract.

    Args:
        views: What it returned.
        evaluator: Who, for messages.
        context: What was split.

    Raises:
        FormatError: It is no mapping of exactly train and validation to contexts with samples, of
            the same variables and target; or a row is in both, although the context's arguments do
            not ask for that (``method="same"``).
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
    if not problems:
        problems = _contradictions(views["train"], views["validation"], context)
    if problems:
        raise FormatError(where, problems)
    return dict(views)


def _contradictions(
    train: AgentContext, validation: AgentContext, context: AgentContext
) -> list[str]:
    if train.target != validation.target:
        return [f"the targets differ: {train.target!r} and {validation.target!r}"]
    odd = sorted(train.data.keys() ^ validation.data.keys())
    if odd:
        return [f"{', '.join(map(repr, odd))}: in one of train and validation only"]
    if context.args.method == "same":
        return []
    # Data of an evaluator's own making have rows that count nowhere else.
    own = [view.rows for view in (train, validation) if view.is_view or view is context]
    shared = np.intersect1d(own[0], own[1]) if len(own) == 2 else np.empty(0)
    if train is not validation and not shared.size:
        return []
    first = f"row {shared[0]}" if shared.size else "every row"
    return [
        f"{first} is in training and in validation, as are {shared.size or train.n_samples} of "
        f"{validation.n_samples} validation rows; to fit and measure on the same rows, ask for it "
        'with SplitOptions(method="same")'
    ]
