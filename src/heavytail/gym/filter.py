"""A filter of rewards: it makes another reward of each reward, in the light of those before.

What it is told is the same for one environment and for vectors of them: `heavytail.gym.adapters` see to that.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy.typing as npt

from heavytail.files import Arrays

Filtered: TypeAlias = tuple[float, dict[str, Any]]  # a reward, and what `info` says of it


class Visit(NamedTuple):
    """An observation by its code, the action taken there, and what came of it."""

    code: Hashable
    action: Any
    reward: float
    end: bool  # whether a terminal state follows


class RewardFilter(ABC):
    """A filter for environments with these spaces.

    It is made from the two spaces and its options by name.
    """

    missing: ClassVar[Mapping[str, Any]]  # what `info` says where there was no reward
    steps: int  # so far
    options: dict[str, Any]  # that make it again, for a file

    @property
    def remembers(self) -> bool:
        """True if the next reward depends on those before."""
        return True

    @abstractmethod
    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation, to remember until its action is known."""

    @abstractmethod
    def apply(self, visits: Sequence[Visit]) -> list[Filtered]:
        """Filter the rewards of these visits, one after the other."""

    @abstractmethod
    def state_dict(self) -> Arrays:
        """Return the state as arrays."""

    @abstractmethod
    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from such arrays; if anything is wrong with them, nothing changes."""
