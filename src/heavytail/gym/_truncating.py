"""What all wrappers that truncate rewards share: how they are looked at, saved and loaded."""

import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Self, overload

import numpy.typing as npt

from heavytail.errors import InputError, one_line
from heavytail.files import Arrays, read_arrays
from heavytail.gym._truncator import OWN_COUNTER, Truncator
from heavytail.gym.reward_transforms import RewardTransform
from heavytail.gym.visit_counts import VisitCounter
from heavytail.training.agent_file import METADATA, AgentFile, read_agent_file, write_agent_file
from heavytail.training.lost_state import describe_lost_state, steps_of_learning_model

FILE = "file of counts"


class Load:
    """The two uses of `load`: of a wrapper's class, for a new one, and of a wrapper, in place."""

    @overload
    def __get__(self, instance: None, owner: type["Truncating"]) -> Callable[..., Any]: ...
    @overload
    def __get__(self, instance: "Truncating", owner: type["Truncating"]) -> Callable[..., None]: ...
    def __get__(self, instance: "Truncating | None", owner: type["Truncating"]) -> Callable[..., Any]:
        return owner.from_file if instance is None else instance.continue_from


class Truncating:
    """Properties and methods of a wrapper around a truncator."""

    _truncator: Truncator
    load = Load()

    @property
    def transform(self) -> RewardTransform:
        """The transform of rewards; ``transform.coefficient`` is what "auto" has chosen so far."""
        return self._truncator.transform

    @property
    def counter(self) -> VisitCounter | None:
        """The visit counts; None if the threshold is fixed."""
        return self._truncator.counter

    @property
    def warming_up(self) -> bool:
        """True while "auto" is choosing the coefficient."""
        return self._truncator.warming_up

    @property
    def truncated_fraction(self) -> float:
        """The fraction of all rewards so far that were beyond the threshold."""
        return self._truncator.truncated / max(1, self._truncator.steps)

    @property
    def lacks_state(self) -> bool:
        """True if it counts visits and has seen none: whoever goes on with an old agent forgot to load."""
        return self.counter is not None and self._truncator.steps == 0

    def state_dict(self) -> Arrays:
        """Return the counts and the coefficient of "auto" as arrays."""
        return self._truncator.state_dict()

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays; the present counts are forgotten."""
        self._truncator.load_state_dict(arrays)
        self._recode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write options and counts into an ``.npz`` file, without pickle.

        An interruption leaves the old file.
        """
        metadata = {"wrapper": type(self).__name__, "options": self._truncator.options}
        write_agent_file(path, AgentFile(metadata, self.state_dict()))

    def continue_from(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file of counts; if anything is wrong with it, nothing changes."""
        arrays = read_arrays(path, FILE)
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
        metadata, arrays = read_agent_file(path, FILE, "env.save(path)")
        try:
            wrapper = cls(env, **_merge_options(metadata["options"], options))  # type: ignore[call-arg]
            wrapper.load_state_dict(arrays)
        except Exception as error:  # whatever a check says of a file
            raise InputError(f"{os.fspath(path)} cannot be used: {one_line(error)}") from error
        return wrapper

    def _truncate(
        self, codes: Iterable[Hashable], actions: Iterable[Any], rewards: Sequence[float]
    ) -> list[tuple[float, float, bool]]:
        """Do as `Truncator.apply` does; before the first reward, look who is learning."""
        if self.lacks_state and (learnt := steps_of_learning_model()):
            warnings.warn(describe_lost_state(type(self).__name__, learnt), stacklevel=2)
        return self._truncator.apply(codes, actions, rewards)

    def _recode(self) -> None:
        """Hash the present observations again: the hash may have changed."""
        raise NotImplementedError


def _merge_options(saved: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    options = {**saved, **given}
    if options["counter"] == OWN_COUNTER:
        raise InputError("it was saved with a counter of your own; give it again, counter=")
    return options
