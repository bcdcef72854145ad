"""Undo what was half done to a record."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np

from heavytail.agent_file import flatten
from heavytail.arrays import Record


@contextmanager
def rolled_back_on_error(record: Record, *, but: Collection[str] = ()) -> Iterator[None]:
    """Put the arrays of a record back as they were, whatever ends this early: also Ctrl-C.

    Args:
        record: the record.
        but: fields that others may change meanwhile.
    """
    arrays = {path: array for path, array in flatten("", record).items() if path.strip("/") not in but}
    before = {path: array.copy() for path, array in arrays.items()}
    try:
        yield
    except BaseException:
        for path, array in arrays.items():
            if array.flags.writeable:
                np.copyto(array, before[path])
        raise
