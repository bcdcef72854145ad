"""Building blocks of compiled code: the interface for authors of agents, estimators and laws.

*Verbs* (`act`, `update`, `reset` and, where wanted, `begin`, `full`, `write_counters`; for estimators `push`,
`mean`, `radius`): give a record a verb by registering a kernel for its class, and call the verbs of the
records inside it. *Random draws* take the stream passed to a kernel. *Operations on arrays* replace those for
which NumPy would allocate. `kernel` compiles a helper that several verbs share, `subroutine` a larger one,
which is called instead of inlined.

A record with arrays of whole numbers declares in a method ``ranges()`` what they may hold; otherwise its
files are not loaded: `heavytail.kernels.validity`.

>>> from heavytail.kernels import act, argmax_row, integer, reset, uniform, update
"""

from heavytail.kernels.array_ops import (
    argmax_row,
    argmax_slice,
    as_int,
    max_row,
    max_slice,
    median,
    select,
)
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.dispatch import generic, switch
from heavytail.kernels.elementary import exp, log, power
from heavytail.kernels.rng import exponential, gamma, integer, normal, uniform
from heavytail.kernels.verbs import (
    act,
    begin,
    counter_names,
    full,
    mean,
    push,
    radius,
    reset,
    update,
    write_counters,
)

__all__ = [
    "act",
    "argmax_row",
    "argmax_slice",
    "as_int",
    "begin",
    "counter_names",
    "exp",
    "exponential",
    "full",
    "gamma",
    "generic",
    "integer",
    "kernel",
    "log",
    "max_row",
    "max_slice",
    "mean",
    "median",
    "normal",
    "power",
    "push",
    "radius",
    "reset",
    "select",
    "subroutine",
    "switch",
    "uniform",
    "update",
    "write_counters",
]
