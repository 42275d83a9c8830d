"""The one error tree. Each message says what is wrong, where, and what to do about it.

Outcomes of a trial are values, not errors: see ``srh.evaluation.protocol.Outcome``.
"""

from __future__ import annotations

from collections.abc import Sequence


class SrhError(Exception):
    """Base of every error that srh raises to a caller."""

    def __str__(self) -> str:
        # KeyError, from which one subclass inherits, would print the repr of its argument.
        return " ".join(str(argument) for argument in self.args)


class UsageError(SrhError):
    """What was asked for cannot be done: an unknown name, a bad option, a missing folder."""


class FormatError(SrhError):
    """A file or message does not follow its format.

    Attributes:
        where: The file or message that is wrong.
        problems: One sentence per mistake, each naming its field.
    """

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        self.where = where
        self.problems = list(problems)
        super().__init__("\n".join(f"{where}: {problem}" for problem in self.problems))


class ContextManifestError(FormatError):
    """A ``context.data`` folder does not follow its format; every problem names its file."""


class DataError(SrhError):
    """The data cannot be used as the task declares them."""


class FormulaError(SrhError):
    """Base of what can be wrong with a formula: whoever proposes formulas may cause these."""


class ParseError(FormulaError, ValueError):
    """A formula's text is outside the grammar or its limits."""


class MissingVariableError(FormulaError, KeyError):
    """A formula names variables that the data do not have."""


class UnboundParameterError(FormulaError, ValueError):
    """A formula is evaluated while some of its parameters have no value."""


class ExpressionError(FormulaError, ValueError):
    """An expression is built or used in a way that has no meaning."""


class FitError(FormulaError):
    """The parameters of a formula cannot be determined from the data."""


class MetricError(SrhError, ValueError):
    """A metric is unknown, or declared inconsistently."""


class SandboxUnavailableError(SrhError):
    """This machine lacks a protection without which code of a trial is not run."""


class HarnessError(SrhError):
    """Our own fault, or the machine's: never a trial's. Loud, and exits with code 2."""
