"""Files of agents and wrappers: arrays in one ``.npz``, with JSON metadata that describes them.

No pickle is written or read. A file is written under a temporary name and renamed when complete, so an
interruption leaves the old one. Each array carries the checksum of the zip format; a file whose contents do
not match its description is refused.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Record
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays, read_arrays, write_arrays

FORMAT = 5  # increases with every change of an array's name or type
METADATA = "heavytail.json"  # the entry of the metadata


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


def find_array(
    path: str,
    arrays: Mapping[str, npt.NDArray[Any]],
    expected: npt.NDArray[Any],
    *,
    same_shape: bool = True,
    grows: bool = False,
) -> npt.NDArray[Any]:
    """Return the array at this path if its type and shape are as expected; one that grows may be longer.

    Without `same_shape` only the number of axes is checked.
    """
    if path not in arrays:
        raise InputError(f"{path} is missing")
    new = arrays[path]
    fits = new.dtype == expected.dtype and new.ndim == expected.ndim
    if fits and same_shape:
        longer = grows and new.shape[1:] == expected.shape[1:] and len(new) >= len(expected)
        fits = longer or new.shape == expected.shape
    if not fits:
        shape = list(expected.shape) if same_shape else f"[{', '.join('n' * expected.ndim)}]"
        raise InputError(f"{path} is {new.dtype}{list(new.shape)} where {expected.dtype}{shape} is expected")
    return new


def write_agent_file(path: str | os.PathLike[str], file: AgentFile) -> None:
    """Write the file; if that fails, the old one stays."""
    metadata = json.dumps({**file.metadata, "format": FORMAT}, indent=1).encode()
    write_arrays(path, {METADATA: np.frombuffer(metadata, np.uint8), **file.arrays})


def read_agent_file(
    path: str | os.PathLike[str], what: str = "agent file", written_by: str = "learner.save(path)"
) -> AgentFile:
    """Read the file; a damaged or foreign one raises a one-line error that names `what` it should be."""
    arrays = read_arrays(path, what)
    if METADATA not in arrays:
        raise InputError(f"{Path(path)} is not a heavytail {what}; write one with {written_by}")
    return AgentFile(_pop_metadata(Path(path), arrays), arrays)


def read_description(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read only the file's description."""
    arrays = read_arrays(path, "file of heavytail", only=METADATA)
    if METADATA not in arrays:
        raise InputError(f"{Path(path)} is not a file of heavytail: it has no description")
    return _pop_metadata(Path(path), arrays)


def _pop_metadata(target: Path, arrays: Arrays) -> dict[str, Any]:
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
