"""Labels: a user's names for states and actions, and the integers that agents see instead."""

import itertools
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.errors import InputError, short_repr

MAX_LABELS = 10_000_000


class _Codes(dict[Hashable, int]):
    def __missing__(self, label: Hashable) -> int:
        return -1


class Labels(Sequence[Hashable]):
    """A finite set of labels in a fixed order; ``labels[code]`` is the label of a number.

    Args:
        labels: each once. With a ``range`` from 0 the labels are the numbers themselves.

    Attributes:
        are_codes: whether each label is its own number.
        codes: a dictionary from labels to numbers, empty if they are the same; unknown labels give -1.

    >>> labels = Labels([("north", 1), ("south", 2)])
    >>> labels.code(("south", 2), "state"), labels[1]
    (1, ('south', 2))
    """

    def __init__(self, labels: Iterable[Hashable]) -> None:
        self.are_codes = isinstance(labels, range) and labels == range(len(labels))
        self._labels: Sequence[Hashable] = labels if isinstance(labels, range) else tuple(labels)
        pairs = () if self.are_codes else zip(self._labels, range(len(self._labels)), strict=True)
        self.codes = _Codes(pairs)
        if not self.are_codes and len(self.codes) < len(self._labels):
            raise InputError("two labels are equal; each must appear once")
        if not self._labels:
            raise InputError("there are no labels; there must be at least one")

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, code: Any) -> Any:
        return self._labels[code]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._labels)

    def __repr__(self) -> str:
        return f"Labels({short_repr(list(self._labels[:8]))[:-1]}{', ...' if len(self) > 8 else ''}])"

    def code(self, label: Any, what: str) -> int:
        """Return the number of a label; the error names `what` it should have been."""
        if not self.has(label):
            raise self._unknown(label, what)
        return operator.index(label) if self.are_codes else self.codes[_hashable(label)]

    def has(self, label: Any) -> bool:
        """Return whether this is one of the labels."""
        try:
            if self.are_codes:
                return 0 <= operator.index(label) < len(self)
            return _hashable(label) in self.codes
        except TypeError:
            return False

    def _unknown(self, label: Any, what: str) -> InputError:
        if self.are_codes:
            known = f"{what}s are whole numbers from 0 to {len(self) - 1}"
        else:
            few = ", ".join(map(short_repr, self._labels[:3]))
            known = f"{what}s are {few}{', ...' if len(self) > 3 else ''}"
        return InputError(f"there is no {what} {short_repr(label)}; {known}")

    def name_codes(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Convert an array of numbers to their labels."""
        if self.are_codes:
            return codes
        names = np.empty(len(self), object)
        names[:] = self._labels
        return names[codes]


def _hashable(label: Any) -> Any:
    """Convert a list or an array, as in Gymnasium's observations, to a tuple."""
    if isinstance(label, np.ndarray | np.generic):
        label = label.tolist()
    return tuple(map(_hashable, label)) if isinstance(label, list | tuple) else label


def refuse_label(label: Hashable) -> Any:
    """Refuse a label that cannot be saved."""
    raise InputError(
        f"the label {short_repr(label)} cannot be saved; labels in a file are text, numbers, None, or tuples"
        " of them"
    )


def label_to_json(label: Hashable, other: Callable[[Hashable], Any] = refuse_label) -> Any:
    """Convert a label to JSON; `other` converts anything but text, numbers, None and tuples of them."""
    if isinstance(label, tuple):
        return [label_to_json(part, other) for part in label]
    return label if label is None or isinstance(label, str | bool | int | float) else other(label)


def label_from_json(label: Any) -> Hashable:
    """Convert a label back from JSON."""
    if isinstance(label, dict):
        raise InputError(f"the label {short_repr(label)} is a table")
    return tuple(map(label_from_json, label)) if isinstance(label, list) else label


def make_labels(given: Any, what: str) -> Labels:
    """Make labels from their number, a list of them, or a discrete space of Gymnasium.

    >>> make_labels(3, "states")
    Labels([0, 1, 2])
    >>> make_labels(["left", "right"], "actions").code("right", "action")
    1
    """
    if isinstance(given, Labels):
        return given
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 1 <= given <= MAX_LABELS:
            raise InputError(f"{what} is {given}; it must be from 1 to {MAX_LABELS:,}")
        return Labels(range(int(given)))
    if hasattr(given, "sample") and hasattr(given, "contains"):
        given = _list_space(given, what)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(
            f"{what} is {short_repr(given)}; it must be their number, a list of them, or a discrete"
            " space of Gymnasium"
        )
    try:
        return Labels(given if isinstance(given, range) else [_hashable(label) for label in given])
    except TypeError as error:
        raise InputError(f"{what}: {error}; a label must be hashable") from None
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _list_space(space: Any, what: str) -> Iterable[Any]:
    """List all elements of a discrete space."""
    from gymnasium import spaces  # here, because most agents need no Gymnasium, which is slow to import

    if isinstance(space, spaces.Discrete):
        return range(int(space.start), int(space.start + space.n))
    if isinstance(space, spaces.MultiDiscrete):
        sizes, starts = space.nvec.reshape(-1).tolist(), space.start.reshape(-1).tolist()
        parts: list[Any] = [range(start, start + n) for start, n in zip(starts, sizes, strict=True)]
    elif isinstance(space, spaces.MultiBinary):
        parts = [range(2)] * int(np.prod(space.shape))
    elif isinstance(space, spaces.Tuple):
        parts = [list(_list_space(part, what)) for part in space.spaces]
    else:
        raise InputError(
            f"{what} is {short_repr(space)}; of Gymnasium's spaces it must be Discrete, MultiDiscrete,"
            " MultiBinary or a Tuple of them"
        )
    count = np.prod([float(len(part)) for part in parts])
    if count > MAX_LABELS:
        raise InputError(f"{what}: {short_repr(space)} has {count:.3g} elements, more than {MAX_LABELS:,}")
    return itertools.product(*parts)
