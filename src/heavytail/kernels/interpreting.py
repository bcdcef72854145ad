"""Run what would be compiled as plain Python, beside compiled code: the same results, later.

Kernels ask at each call from Python whether they are interpreted. So a first call need not wait until
something is compiled, and one that takes longer than compiling can be given up.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

R = TypeVar("R")
CALLS_BETWEEN_LOOKS = 1000  # of kernels: half a millisecond


class OvertakenError(Exception):
    """It need not be interpreted any more."""


class _Interpreter(threading.local):
    """What this thread interprets, if anything."""

    is_overtaken: Callable[[], bool] | None = None
    calls = 0

    def call(self, function: Callable[..., R], *arguments: Any, **keywords: Any) -> R:
        """Call a kernel; now and then look whether it is still of use."""
        self.calls += 1
        if self.calls % CALLS_BETWEEN_LOOKS == 0 and self.is_overtaken is not None and self.is_overtaken():
            raise OvertakenError
        return function(*arguments, **keywords)


interpreter = _Interpreter()


def interpret(
    function: Callable[..., R], *arguments: Any, is_overtaken: Callable[[], bool] = lambda: False
) -> R:
    """Run a function and its kernels as plain Python.

    Integers wrap and floats overflow silently, as when compiled.

    Raises:
        OvertakenError: if `is_overtaken` says so meanwhile. What the function changed stays half changed.
    """
    before, interpreter.is_overtaken = interpreter.is_overtaken, is_overtaken
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    finally:
        interpreter.is_overtaken = before
