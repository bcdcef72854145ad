"""What compiled code is made of, and the one door for authors of agents, estimators and laws."""

from heavytail.kernels.array_ops import (
    argmax_row,
    argmax_slice,
    as_int,
    max_row,
    max_slice,
    median,
    prefetch_cell,
    select,
)
from heavytail.kernels.compiling import kernel
from heavytail.kernels.dispatch import generic, switch
from heavytail.kernels.rng import exponential, gamma, integer, normal, uniform
from heavytail.kernels.verbs import (
    act,
    begin,
    counter_names,
    counters,
    full,
    mean,
    prefetch,
    push,
    radius,
    reset,
    update,
)

__all__ = [
    "act",
    "argmax_row",
    "argmax_slice",
    "as_int",
    "begin",
    "counter_names",
    "counters",
    "exponential",
    "full",
    "gamma",
    "generic",
    "integer",
    "kernel",
    "max_row",
    "max_slice",
    "mean",
    "median",
    "normal",
    "prefetch",
    "prefetch_cell",
    "push",
    "radius",
    "reset",
    "select",
    "switch",
    "uniform",
    "update",
]
