"""Options of the compiler, XLA, for a GPU.

An update is some fifty kernels, most of them small. XLA starts them as one graph, by default one after the
other; kernels that do not need each other's results can run at the same time.
"""

from functools import cache

import jax
from jax.errors import JaxRuntimeError

SIDE_BY_SIDE = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}


@cache
def compiler_options() -> dict[str, str]:
    """Return the options for this device: none on a CPU, or where this version of JAX does not know them."""
    if jax.default_backend() != "gpu":
        return {}
    try:
        jax.jit(lambda: 0, compiler_options=SIDE_BY_SIDE).lower().compile()
    except JaxRuntimeError:
        return {}
    return SIDE_BY_SIDE
