"""What all wrappers that filter rewards share: how they are looked at, saved and loaded."""

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, overload

import numpy.typing as npt

from heavytail.agent_file import METADATA, AgentFile, read_agent_file, write_agent_file
from heavytail.errors import InputError, one_line
from heavytail.files import Arrays, read_arrays

OWN_COUNTER = "your own"  # in place of a counter that no file can hold
Filtered: TypeAlias = tuple[float, dict[str, Any]]  # a reward, and what `info` says of it


class Visit(NamedTuple):
    """An observation by its code, the action taken there, and what came of it."""

    code: Hashable
    action: Any
    reward: float
    end: bool  # whether a terminal state follows


class RewardFilter(Protocol):
    """Makes another reward of each reward, in the light of those before."""

    steps: int  # so far
    options: dict[str, Any]  # that make it again, for a file
    missing: ClassVar[Mapping[str, Any]]  # what `info` says where there was no reward

    @property
    def remembers(self) -> bool:
        """True if the next reward depends on those before."""

    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation, to remember until its action is known."""

    def apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        """Filter the rewards of these visits, one after the other."""

    def state_dict(self) -> Arrays:
        """Return the state as arrays."""

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays; if anything is wrong with them, nothing changes."""


class Load:
    """The two uses of `load`: of a wrapper's class, for a new one, and of a wrapper, in place."""

    @overload
    def __get__(self, instance: None, owner: type["Filtering"]) -> Callable[..., Any]: ...
    @overload
    def __get__(self, instance: "Filtering", owner: type["Filtering"]) -> Callable[..., None]: ...
    def __get__(self, instance: "Filtering | None", owner: type["Filtering"]) -> Callable[..., Any]:
        return owner.from_file if instance is None else instance.continue_from


class Filtering:
    """Properties and methods of a wrapper around a filter of rewards."""

    _filter: RewardFilter
    _file = "file of counts"
    load = Load()

    def state_dict(self) -> Arrays:
        """Return what was learnt of the rewards as arrays."""
        return self._filter.state_dict()

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays; what was learnt here is forgotten."""
        self._filter.load_state_dict(arrays)
        self._recode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write options and state into an ``.npz`` file, without pickle.

        An interruption leaves the old file.
        """
        metadata = {"wrapper": type(self).__name__, "options": self._filter.options}
        write_agent_file(path, AgentFile(metadata, self.state_dict()))

    def continue_from(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file; if anything is wrong with it, nothing changes."""
        arrays = read_arrays(path, self._file)
        arrays.pop(METADATA, None)  # the options are this wrapper's own
        try:
            self.load_state_dict(arrays)
        except InputError as error:
            raise InputError(f"{path} does not fit: {error}") from None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], env: Any, **options: Any) -> Self:
        """Make a wrapper around an environment as it was saved.

        Args:
            path: the file.
            env: the environment, or the vector of them.
            **options: to change; a `counter` of one's own is not in the file and is given again.
        """
        metadata, arrays = read_agent_file(path, cls._file, "env.save(path)")
        try:
            wrapper = cls(env, **_merge_options(metadata["options"], options))  # type: ignore[call-arg]
            wrapper.load_state_dict(arrays)
        except Exception as error:  # whatever a check says of a file
            saved = metadata.get("wrapper", cls.__name__)
            other = "" if saved == cls.__name__ else f"; it is the state of {saved}, not of {cls.__name__}"
            raise InputError(f"{os.fspath(path)} cannot be used: {one_line(error)}{other}") from error
        return wrapper

    def _apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        """Do as the filter does."""
        for i, visit in enumerate(visits, self._filter.steps + 1):
            if math.isnan(visit.reward):
                raise InputError(f"the reward of step {i} is nan; a reward must be a number")
        return self._filter.apply(visits)

    def _recode(self) -> None:
        """Hash the present observations again: the hash may have changed."""
        raise NotImplementedError


def _merge_options(saved: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    options = {**saved, **given}
    if options.get("counter") == OWN_COUNTER:
        raise InputError("it was saved with a counter of your own; give it again, counter=")
    return options
