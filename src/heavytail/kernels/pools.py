"""Pools: arrays of a record that may grow while it learns.

Kernels cannot allocate. A record whose data grow keeps them in *pools*, arrays whose first axis may be longer
than the part in use: its method ``pools()`` names them, and its method of the verb `full` tells when the next
update may exceed their capacity. The loop then stops, Python doubles the pools with `with_larger_pools`, and
the loop goes on. Records inside an agent have their own pools, so an agent need not know whether its
estimator has any.

Other arrays never change: a record's method ``constant_fields()`` names them, and when many records lie side
by side (`heavytail.training.lanes`) one copy serves all.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import overload

from heavytail.arrays import Record
from heavytail.kernels.compiling import KERNEL_OPTIONS, interpret, kernel
from heavytail.kernels.verbs import full


def pool_fields(record: Record) -> tuple[str, ...]:
    """List the names of a record's own pools."""
    return tuple(record.pools()) if hasattr(record, "pools") else ()


def constant_fields(record: Record) -> tuple[str, ...]:
    """List the names of a record's own arrays that never change once it is built."""
    return tuple(record.constant_fields()) if hasattr(record, "constant_fields") else ()


def with_larger_pools(record: Record) -> Record:
    """Return the record with twice the capacity in every pool that is full, until none is."""
    larger = {
        name: with_larger_pools(value)
        for name, value in zip(record._fields, record, strict=True)
        if hasattr(value, "_fields")
    }
    record = record._replace(**larger)
    while type(record) in full.methods and interpret(full, record):
        if not pool_fields(record):
            raise TypeError(
                f"{type(record).__name__} is full and has no pools; name them in its method pools()"
            )
        record = record._replace(**{name: _doubled(getattr(record, name)) for name in pool_fields(record)})
    return record


def _doubled(pool: Any) -> Any:
    return np.concatenate([pool, np.zeros((max(len(pool), 1), *pool.shape[1:]), pool.dtype)])


def any_pool_full(record: Record) -> bool:
    """Return whether a record, or one inside it, is full."""
    return full(record) or any(any_pool_full(value) for value in record if hasattr(value, "_fields"))


@overload(any_pool_full, jit_options=KERNEL_OPTIONS, strict=False)
# Numba allows the name only.
def _any_pool_full(record):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    if not isinstance(record, types.BaseNamedTuple):
        return None
    is_full: Callable[..., bool] = full.methods.get(cast("Any", record).instance_class, _never_full)
    for i, kind in enumerate(cast("Any", record).types):
        if _can_be_full(kind):
            is_full = _or_inside(i, is_full)
    return is_full


def _can_be_full(kind: Any) -> bool:
    if not isinstance(kind, types.BaseNamedTuple):
        return False
    record: Any = kind
    return record.instance_class in full.methods or any(map(_can_be_full, record.types))


@kernel
def _never_full(record: Record) -> bool:
    return False


def _or_inside(i: int, before: Callable[[Record], bool]) -> Callable[[Record], bool]:
    return kernel(lambda record: before(record) or any_pool_full(record[i]))


vars(any_pool_full).update(
    compiled_parts=lambda classes: [
        _any_pool_full,
        _can_be_full,
        _never_full,
        _or_inside,
        *full.compiled_parts(classes),
    ]
)
