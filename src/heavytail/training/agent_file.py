"""Agent files: every array of a run in one ``.npz``, with JSON metadata that says what they are.

No pickle is written or read. A file is written under a temporary name and renamed when it is complete, so
that an interruption leaves the old one. Each array carries the checksum of the zip format; a file that does
not fit the agent it claims to be is refused.
"""

import json
import os
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from heavytail.arrays import Record
from heavytail.checks import Count, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays, read_arrays, write_arrays
from heavytail.kernels.pools import pool_fields
from heavytail.kernels.validity import check_record
from heavytail.mdp.problem import Problem

FORMAT = 2  # rises with every change of the name or type of an array
METADATA = "heavytail.json"  # the entry of the metadata
MIN_LARGE = 1_000_000  # steps, states and actions from which on a file must hold something of them,
MAX_CELLS_PER_BYTE = 64  # namely a byte for so many: an agent that plans holds four for each step and state


class AgentFile(NamedTuple):
    """The contents of a file."""

    metadata: dict[str, Any]
    arrays: Arrays


def flatten(prefix: str, record: Record) -> Arrays:
    """Collect the fields of a record and of the records inside it, each under its path."""
    arrays: Arrays = {}
    for name, value in zip(record._fields, record, strict=True):
        path = f"{prefix}/{name}"
        arrays |= flatten(path, value) if hasattr(value, "_fields") else {path: np.asarray(value)}
    return arrays


def restore_valid(prefix: str, built: Record, arrays: Arrays) -> Record:
    """Make a valid record from the arrays of a file, like one that is fresh from its builder."""
    record = restore(prefix, built, arrays, same_shape=True)
    check_record(prefix, record, built)
    return record


def restore(prefix: str, template: Record, arrays: Arrays, *, same_shape: bool) -> Record:
    """Make a record like `template` from the arrays of a file; what they hold is not looked at.

    They must have the same types and, where `same_shape`, the same shapes except for pools, which may grow.
    """
    values, pools = [], pool_fields(template)
    _check_pool_lengths(prefix, pools, arrays)
    for name, old in zip(template._fields, template, strict=True):
        path = f"{prefix}/{name}"
        if hasattr(old, "_fields"):
            values.append(restore(path, old, arrays, same_shape=same_shape))
        else:
            if path not in arrays:
                raise InputError(f"{path} is missing")
            new = arrays[path]
            check_array(path, new, np.asarray(old), same_shape=same_shape, grows=name in pools)
            values.append(np.ascontiguousarray(new) if isinstance(old, np.ndarray) else type(old)(new[()]))
    return type(template)(*values)


def _check_pool_lengths(prefix: str, pools: tuple[str, ...], arrays: Arrays) -> None:
    paths = [f"{prefix}/{name}" for name in pools]
    if len({len(arrays[path]) for path in paths if path in arrays and arrays[path].ndim}) > 1:
        raise InputError(f"the pools {', '.join(pools)} of {prefix} have different lengths")


def check_array(
    path: str,
    new: npt.NDArray[Any],
    expected: npt.NDArray[Any],
    *,
    same_shape: bool = True,
    grows: bool = False,
) -> None:
    """Raise a one-line error for an array of another type or shape; one that grows may be longer."""
    fits = new.dtype == expected.dtype and new.ndim == expected.ndim
    if fits and same_shape:
        longer = grows and new.shape[1:] == expected.shape[1:] and len(new) >= len(expected)
        fits = longer or new.shape == expected.shape
    if not fits:
        raise InputError(
            f"{path} is {new.dtype}{list(new.shape)} where {expected.dtype}{list(expected.shape)} is expected"
        )


def write_agent_file(path: str | os.PathLike[str], file: AgentFile) -> None:
    """Write the file; if that fails, the old one stays."""
    metadata = json.dumps({**file.metadata, "format": FORMAT}, indent=1).encode()
    write_arrays(path, {METADATA: np.frombuffer(metadata, np.uint8), **file.arrays})


def read_agent_file(path: str | os.PathLike[str]) -> AgentFile:
    """Read the file; a damaged or foreign file is a one-line error."""
    arrays = read_arrays(path, "agent file")
    return AgentFile(_pop_metadata(Path(path), arrays), arrays)


def _pop_metadata(target: Path, arrays: Arrays) -> dict[str, Any]:
    if METADATA not in arrays:
        raise InputError(f"{target} is no agent file of heavytail; write one with learner.save(path)")
    try:
        metadata: dict[str, Any] = json.loads(arrays.pop(METADATA).tobytes())
        version = metadata["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{target} is damaged: its description cannot be read") from error
    if version != FORMAT:
        raise InputError(
            f"{target} has format {short_repr(version)}, this version of heavytail reads format {FORMAT};"
            " load it with the version that wrote it, or learn again"
        )
    return metadata


def read_metadata(metadata: dict[str, Any]) -> tuple[str, dict[str, Any], Problem]:
    """Return the agent's name, its parameters and its problem."""
    parameters, problem = (_read_table(metadata, key) for key in ("parameters", "problem"))
    types = {"n_states": Count, "n_actions": Count, "horizon": Annotated[int, Ge(0)], "r_max": float | None}
    sizes = {key: cast_value(problem[key], hint, f"its {key}") for key, hint in types.items()}
    return metadata["agent"], parameters, Problem(**sizes)


def _read_table(metadata: dict[str, Any], key: str) -> dict[str, Any]:
    table = metadata[key]
    if not isinstance(table, dict):
        raise InputError(f"its {key} is {short_repr(table)}; it must be a table of names and values")
    return table


def check_size(problem: Problem, stored: int) -> None:
    """Refuse a problem that is far larger than what the file holds, before an agent is built for it."""
    cells = max(problem.horizon, 1) * problem.n_states * problem.n_actions
    if cells > max(MIN_LARGE, MAX_CELLS_PER_BYTE * stored):
        raise InputError(
            f"it says that there are {cells:,} steps, states and actions, and holds {stored:,} bytes"
        )
