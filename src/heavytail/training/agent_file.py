"""Agent files: every array of a run in one ``.npz``, and beside them a page of JSON that says what they are. No pickle is written or read.

A file is written under a temporary name and renamed when it is whole, so that an interruption leaves the old
one. Each array carries the checksum of the zip format; what does not fit the agent it claims to be is
refused.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.files import Arrays, read_arrays, write_arrays
from heavytail.kernels.pools import pool_fields

FORMAT = 1
PAGE = "heavytail.json"


class AgentFile(NamedTuple):
    """What a file holds."""

    page: dict[str, Any]
    arrays: Arrays


def flatten(prefix: str, record: Record) -> Arrays:
    """Every field of a record and of the records inside it, under the path that leads there."""
    found: Arrays = {}
    for name, value in zip(record._fields, record, strict=True):
        path = f"{prefix}/{name}"
        found |= flatten(path, value) if hasattr(value, "_fields") else {path: np.asarray(value)}
    return found


def restore(prefix: str, template: Record, arrays: Arrays, *, same_shape: bool) -> Record:
    """A record like `template` with the values of the file.

    They must be of the same kinds, and where asked, of the same shapes but for pools, which may grow.
    """
    values, pools = [], pool_fields(template)
    lengths = {
        len(arrays[path]) for name in pools if (path := f"{prefix}/{name}") in arrays and arrays[path].ndim
    }
    if len(lengths) > 1:
        raise InputError(f"the pools {', '.join(pools)} of {prefix} have different lengths")
    for name, old in zip(template._fields, template, strict=True):
        path = f"{prefix}/{name}"
        if hasattr(old, "_fields"):
            values.append(restore(path, old, arrays, same_shape=same_shape))
            continue
        if path not in arrays:
            raise InputError(f"{path} is missing")
        new, kind = arrays[path], np.asarray(old)
        if (
            new.dtype != kind.dtype
            or new.ndim != kind.ndim
            or (same_shape and name not in pools and new.shape != kind.shape)
        ):
            raise InputError(
                f"{path} is {new.dtype}{list(new.shape)} where {kind.dtype}{list(kind.shape)} is expected"
            )
        values.append(np.ascontiguousarray(new) if isinstance(old, np.ndarray) else type(old)(new[()]))
    return type(template)(*values)


def write_agent_file(path: str | os.PathLike[str], file: AgentFile) -> None:
    """Write the file, or leave what was there."""
    page = json.dumps({**file.page, "format": FORMAT}, indent=1).encode()
    write_arrays(path, {PAGE: np.frombuffer(page, np.uint8), **file.arrays})


def read_agent_file(path: str | os.PathLike[str]) -> AgentFile:
    """Read the file; anything wrong with it is a one-line error."""
    arrays = read_arrays(path, "agent file")
    return AgentFile(_page(Path(path), arrays), arrays)


def _page(target: Path, arrays: Arrays) -> dict[str, Any]:
    if PAGE not in arrays:
        raise InputError(f"{target} is no agent file of heavytail; write one with learner.save(path)")
    try:
        page = json.loads(arrays.pop(PAGE).tobytes())
        version = page["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{target} is damaged: its description cannot be read") from error
    if version != FORMAT:
        raise InputError(
            f"{target} has format {version}, this version of heavytail reads format {FORMAT}; save"
            " it again with a matching version"
        )
    return page
