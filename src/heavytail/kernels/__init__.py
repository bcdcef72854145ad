"""What compiled code is made of, and the one door for authors of agents, estimators and laws."""

from heavytail.kernels.array_ops import argmax_part, argmax_row, as_int, ask_for, max_part, max_row, median, select
from heavytail.kernels.compiling import kernel
from heavytail.kernels.dispatch import generic, switch
from heavytail.kernels.rng import exponential, gamma, integer, normal, uniform
from heavytail.kernels.verbs import act, begin, counter_names, counters, foresee, full, mean, push, radius, reset, update

__all__ = [
    "act",
    "argmax_part",
    "argmax_row",
    "as_int",
    "ask_for",
    "begin",
    "counter_names",
    "counters",
    "exponential",
    "foresee",
    "full",
    "gamma",
    "generic",
    "integer",
    "kernel",
    "max_part",
    "max_row",
    "mean",
    "median",
    "normal",
    "push",
    "radius",
    "reset",
    "select",
    "switch",
    "uniform",
    "update",
]
