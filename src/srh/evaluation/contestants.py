"""The contestants of one trial: started, furnished, ended and accounted for.

A contestant is forked and binds itself while its scorer does other things; the trial's code is not
imported before the first command. One that has done its work is told to end, and is gone before the
next one of another fold starts: what a process leaves, another one could see.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from srh.environment import clean_environment
from srh.errors import HarnessError
from srh.evaluation.conversation import Talk
from srh.evaluation.outcomes import judge_end
from srh.evaluation.protocol import Request, Usage
from srh.evaluation.scorer import TrialFailedError
from srh.files import remove_tree
from srh.sandbox.channel import ChildGoneError
from srh.sandbox.ended import Ended
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Asking, NurseryError, Order
from srh.sandbox.supervise import Child
from srh.trials import TrialSource


class Contestants:
    """Where a trial's contestants come from.

    Args:
        source: The trial's source.
        request: What is asked.
        nursery: Who forks them.
        data: The data file, which they must not read, nor what lies beside it.

    Attributes:
        saved: The folder of what the first fold's contestant has saved.
    """

    def __init__(self, source: TrialSource, request: Request, nursery: Asking, data: Path) -> None:
        self._source = source
        self._request = request
        self._nursery = nursery
        self._folder = Path(tempfile.mkdtemp(prefix="contestants-")).resolve()
        self.saved = self._folder / "saved"
        self.saved.mkdir(mode=0o700)
        data = data.resolve()
        # What lies beside the data is withheld too, unless contestants live there.
        self._withheld = data if self._folder.is_relative_to(data.parent) else data.parent
        self._started: list[Contestant] = []
        self._ended: list[Ended] = []

    def start(self, *, loads: bool = False) -> Contestant:
        """Start a contestant, and do not wait until it is ready.

        Args:
            loads: Whether it loads what was saved in the first fold; else it saves for itself.

        Raises:
            NurseryError: It cannot be started.
        """
        place = Path(tempfile.mkdtemp(prefix="contestant-", dir=self._folder))
        limits, confined = self._request.limits, self._request.sandbox == "full"
        order = Order(
            entry="srh.contestant.model:main",
            cwd=place,
            environment=clean_environment(),
            channel=True,
            scratch=place,
            disk_mb=limits.disk_mb + self._source.size / 2**20,  # it finds that in its folder
            memory_mb=limits.memory_mb + limits.disk_mb,
            mounted=confined,
            apart=confined and limits.threads > 1,
        )
        contestant = Contestant(Child(self._nursery, order, limits), place, limits)
        self._started.append(contestant)
        own = self._furnish(place)
        contestant.set_up(own, self._set_up(place, self.saved if loads else own))
        return contestant

    def await_ends(self) -> None:
        """Return when every contestant that was told to end is gone, with what it has left.

        Raises:
            NurseryError: Its template has died.
        """
        for contestant in [one for one in self._started if one.dismissed]:
            self._started.remove(contestant)
            self._ended.append(contestant.end())

    def usage(self) -> Usage:
        """Return what the contestants took, together; the peak is the largest one's."""
        self.await_ends()
        peak = max((ended.peak_bytes for ended in self._ended), default=None)
        return Usage(
            wall_s=sum(ended.wall_s for ended in self._ended),
            cpu_s=sum(ended.cpu_s for ended in self._ended),
            peak_memory_mb=None if peak is None else peak / 2**20,
            memory_group=next((ended.group for ended in self._ended), None),
        )

    def forget_state(self) -> None:
        """Remove what was saved in the first fold."""
        if self.saved.exists():
            _remove(self.saved)

    def close(self) -> None:
        """End all that run, and remove what is left of them."""
        for contestant in self._started:
            with suppress(NurseryError):  # then it has ended with its template
                contestant.end()
        self._started.clear()
        _remove(self._folder)

    def _furnish(self, place: Path) -> Path:
        """Lay out what a contestant finds, and return the folder that it saves in.

        It gets a copy of the source of its own: that it was read, and when, shows.
        """
        self._source.stage(place / "trial")
        saved = place / "scratch" / "saved"
        saved.mkdir(mode=0o700, parents=True)
        return saved

    def _set_up(self, place: Path, saved: Path) -> dict[str, Any]:
        return {
            "staged": str(place / "trial"),
            "scratch": str(place / "scratch"),
            "saved": str(saved),
            "limits": dataclasses.asdict(self._request.limits),
            "withheld": [str(self._withheld)],
            "unsafe": self._request.sandbox == "unsafe",
            "frame": self._request.frames,
            "seed": self._request.seed,
        }


class Contestant:
    """One contestant, from its start to its end.

    Args:
        child: Its process.
        place: Its folder.
        limits: Its limits.

    Attributes:
        dismissed: Whether it was told to end.
    """

    def __init__(self, child: Child, place: Path, limits: Limits) -> None:
        self._child = child
        self._place = place
        self._limits = limits
        self._talk: Talk | None = None
        self._gone: ChildGoneError | None = None
        self._ended = False
        self.dismissed = False

    def set_up(self, saved: Path, setup: dict[str, Any]) -> None:
        """Tell it all that it needs to bind itself."""
        self._talk = Talk(self._child, saved)
        try:
            self._talk.set_up(setup)
        except ChildGoneError as error:
            self._gone = error  # why will be found when it is talked to

    @contextmanager
    def talking(self) -> Iterator[Talk]:
        """Talk to it, and turn the way it ends into a failure if it is one; then it has to go.

        Raises:
            TrialFailedError: It says that it fails, or its end does.
            HarnessError: It could not be set up, or was not ours to judge.
        """
        talk = self._talk
        assert talk is not None  # noqa: S101 - it is set up when it is started
        try:
            if self._gone is not None:
                raise self._gone
            talk.await_ready()
            yield talk
        except (ChildGoneError, TrialFailedError) as failure:
            self._child.look()  # what it complains of may be a limit that it has met
            ended = self.end()
            if isinstance(failure, TrialFailedError) and ended.stopped is None:
                raise
            raise _failed(ended, self._limits, ready=talk.ready) from failure
        finally:
            self.dismiss()

    def dismiss(self) -> None:
        """Tell it to end, and do not wait until it has."""
        self.dismissed = True
        self._child.dismiss()

    def end(self) -> Ended:
        """End it, wait until it is gone, remove what it has left, and return how it ended.

        Raises:
            NurseryError: Its template has died.
        """
        if not self._ended:
            self._ended = True
            try:
                self._child.end()
            finally:
                _remove(self._place)
        return self._child.ended


def _remove(folder: Path) -> None:
    try:
        remove_tree(folder)
    except OSError as error:
        raise HarnessError(f"what a model has written cannot be removed: {error}") from error


def _failed(ended: Ended, limits: Limits, *, ready: bool) -> Exception:
    """Return the failure that a contestant's end amounts to."""
    if ended.killed:
        return TrialFailedError("bad_result", "the model's process broke off the conversation")
    outcome, error = judge_end(ended, limits) or ("harness", "it ended without an answer")
    if outcome != "harness":
        return TrialFailedError(outcome, error)
    if not ready:
        return HarnessError(f"a contestant could not be set up: {error}")
    return TrialFailedError("error", f"the model ended its process (exit code {ended.returncode})")
