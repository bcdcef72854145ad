"""Visit counts of states and actions.

Observations are told apart exactly if they are discrete, by a hash if not, or by your own function:
`heavytail.gym.observation_codes`.

>>> import gymnasium
>>> cart_pole = gymnasium.make("CartPole-v1")
>>> counter = visit_counter(cart_pole.observation_space, cart_pole.action_space)
>>> observation, _ = cart_pole.reset(seed=0)
>>> code = counter.code(observation)
>>> counter.visit(code, 1), counter.visit(code, 1), counter.visit(code, 0)
(1, 2, 1)
>>> counter.code(observation + 1e-6) == code
True
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from heavytail.agent_file import find_array
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.files import Arrays
from heavytail.gym.observation_codes import (
    BITS,
    Code,
    codes_from_array,
    codes_to_array,
    hashes_to_arrays,
    make_code,
    read_projections,
)
from heavytail.ranges import MAX_COUNT

COUNTERS = ("auto", "exact", "simhash")


class VisitCounter:
    """Counts of pairs of an observation and an action.

    Args:
        observation_code: a function from an observation to its code, any hashable value such as an integer, a
            string or a tuple.
        action_code: the same for actions; by default the action itself.

    Attributes:
        counts: the number of visits of each pair of codes.

    >>> counter = VisitCounter(lambda observation: round(float(observation[0]), 1))
    >>> code = counter.code([0.12, 7.0])
    >>> code, counter.visit(code, 0), counter.visit(code, 0), counter.count(code, 1)
    (0.1, 1, 2, 0)
    """

    def __init__(self, observation_code: Code, action_code: Code | None = None) -> None:
        self.observation_code = observation_code
        self.action_code: Code = as_plain if action_code is None else action_code
        self.counts: dict[tuple[Hashable, Hashable], int] = {}

    def __repr__(self) -> str:
        return f"VisitCounter(pairs={len(self.counts):,}, visits={sum(self.counts.values()):,})"

    def code(self, observation: Any) -> Hashable:
        """Return the code of an observation."""
        code = as_plain(self.observation_code(observation))
        try:
            hash(code)
        except TypeError:
            raise InputError(
                f"counter gave {short_repr(code)}, a {type(code).__name__}, for an observation; it must"
                " be hashable, such as a number, a string or a tuple"
            ) from None
        return code

    def visit(self, code: Hashable, action: Any) -> int:
        """Count a visit, and return the number of visits including this one."""
        key = code, self.action_code(action)
        n = self.counts[key] = self.counts.get(key, 0) + 1
        return n

    def count(self, code: Hashable, action: Any) -> int:
        """Return the number of visits so far."""
        return self.counts.get((code, self.action_code(action)), 0)

    def state_dict(self) -> Arrays:
        """Return the counts, and the projections of hashes, as arrays.

        >>> counter = VisitCounter(str)
        >>> counter.visit("here", 0), counter.visit("there", 1), counter.visit("here", 0)
        (1, 1, 2)
        >>> {name: array.tolist() for name, array in counter.state_dict().items()}
        {'observations': ["'here'", "'there'"], 'actions': [0, 1], 'counts': [2, 1]}
        """
        codes, actions = zip(*self.counts, strict=True) if self.counts else ((), ())
        state: Arrays = {
            "observations": codes_to_array(codes),
            "actions": codes_to_array(actions),
            "counts": np.array(list(self.counts.values()), np.int64),
        }
        return state | hashes_to_arrays((self.observation_code, self.action_code))

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from saved counts, forgetting the current ones."""
        counts = find_array("counts", arrays, np.zeros(1, np.int64), same_shape=False)
        if not ((counts >= 1) & (counts <= MAX_COUNT)).all():
            raise InputError(f"counts must be at least 1 and at most {MAX_COUNT} each")
        codes, actions = (codes_from_array(name, arrays, len(counts)) for name in ("observations", "actions"))
        # All arrays are checked by now, so nothing is left half loaded. Counts are meaningless without their
        # projections.
        for hashed, projection in read_projections((self.observation_code, self.action_code), arrays):
            hashed.projection = projection
        self.counts = dict(zip(zip(codes, actions, strict=True), counts.tolist(), strict=True))


def visit_counter(
    observation_space: Space[Any],
    action_space: Space[Any],
    counter: str | Code | VisitCounter = "auto",
    bits: int = BITS,
    seed: int = 0,
) -> VisitCounter:
    """Make a counter for these spaces.

    Actions are distinguished exactly if they are discrete; others get their own SimHash.

    Args:
        observation_space: the observation space of a single environment.
        action_space: the action space of a single environment.
        counter: "exact", "simhash", "auto" (exact if observations are discrete, else SimHash), a function
            from an observation to its code, or a counter, which is then shared.
        bits: the bits of each SimHash.
        seed: the seed of each SimHash.

    >>> from gymnasium import spaces
    >>> discrete, box = spaces.Discrete(4), spaces.Box(-1.0, 1.0, (3,))
    >>> for space in (discrete, box):
    ...     type(visit_counter(space, discrete).observation_code).__name__
    'ExactCode'
    'SimHash'
    """
    if isinstance(counter, VisitCounter):
        return counter
    actions = make_code("auto", action_space, bits, seed)
    if callable(counter):
        return VisitCounter(counter, actions)
    if not isinstance(counter, str):
        raise InputError(
            f"counter is {short_repr(counter)}; it must be {', '.join(map(repr, COUNTERS))}, a function"
            " from an observation to its code, or a VisitCounter"
        )
    if counter not in COUNTERS:
        raise InputError(f"counter is {short_repr(counter)}; {suggestion(counter, COUNTERS)}")
    return VisitCounter(make_code(counter, observation_space, bits, seed), actions)


def as_plain(code: Any) -> Any:
    """Convert a NumPy scalar to the equal Python one, which can be saved."""
    if isinstance(code, np.generic) or (isinstance(code, np.ndarray) and code.ndim == 0):
        return code.item()
    return code
