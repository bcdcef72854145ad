"""A kernel in CUDA C++ on the arrays of a JAX program: compiled by NVRTC, started on XLA's stream.

CUDA's own Python bindings come with the extra "cuda".
"""

import ctypes
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax

GPUS = ("NVIDIA H100", "NVIDIA H200")  # of compute capability 9.0, with many clusters of 16 multiprocessors
MODULES = ("jax.experimental.buffer_callback", "cuda.bindings.driver", "cuda.bindings.nvrtc")
OPTIONS = ("--gpu-architecture=sm_90", "--std=c++17", "-default-device")


class Kernel(NamedTuple):
    """A kernel, and how it is started.

    It takes a structure of pointers, to the arrays that it reads and then to those that it changes, and the
    number of runs.
    """

    source: str
    name: str
    blocks: int  # of a run
    threads: int  # of a block
    shared_bytes: int  # of a block
    device: int  # the GPU, by JAX's number


def is_hopper(device: jax.Device) -> bool:
    """Tell whether a device is a whole H100 or H200, and CUDA's bindings are there."""
    if not device.device_kind.startswith(GPUS) or "MIG" in device.device_kind:
        return False
    try:
        return all(find_spec(name) is not None for name in MODULES)
    except ModuleNotFoundError:  # of a parent
        return False


def call_kernel(
    kernel: Kernel, n_runs: int, given: Sequence[jax.Array], changing: Sequence[jax.Array]
) -> list[jax.Array]:
    """Start a kernel from within a compiled program; returns what it has changed, in the same memory."""
    compile_source(kernel.source)  # here, since an error in a callback is hard to read
    buffer_callback = import_module("jax.experimental.buffer_callback").buffer_callback
    call = buffer_callback(
        partial(_launch, kernel, n_runs, len(given)),
        jax.eval_shape(lambda *arrays: arrays, *changing),
        input_output_aliases={len(given) + i: i for i in range(len(changing))},
    )
    return list(call(*given, *changing))


def _launch(kernel: Kernel, n_runs: int, n_given: int, context: Any, out: Any, *arrays: Any) -> None:
    driver = import_module("cuda.bindings.driver")
    addresses = [x.__cuda_array_interface__["data"][0] for x in (*arrays[:n_given], *out)]
    pointers, count = (ctypes.c_uint64 * len(addresses))(*addresses), ctypes.c_int(n_runs)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(pointers), ctypes.addressof(count))
    grid, block = (kernel.blocks * n_runs, 1, 1), (kernel.threads, 1, 1)
    where = (kernel.shared_bytes, context.stream, ctypes.addressof(arguments), 0)
    _check(driver.cuLaunchKernel(_load(kernel), *grid, *block, *where))


@cache
def _load(kernel: Kernel) -> Any:
    """Load a kernel, and let it have large clusters and all the shared memory it asks for."""
    driver = import_module("cuda.bindings.driver")
    module = _check(driver.cuModuleLoadData(compile_source(kernel.source)))
    function = _check(driver.cuModuleGetFunction(module, kernel.name.encode()))
    attributes = driver.CUfunction_attribute
    for attribute, value in (
        (attributes.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        (attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel.shared_bytes),
    ):
        _check(driver.cuFuncSetAttribute(function, attribute, value))
    return function


@cache
def compile_source(source: str) -> bytes:
    """Compile a text to code for the GPU."""
    nvrtc = import_module("cuda.bindings.nvrtc")
    program = _check(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], []))
    status = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), [option.encode() for option in OPTIONS])
    if status[0] != 0:
        log = b" " * _check(nvrtc.nvrtcGetProgramLogSize(program))
        _check(nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(f"a kernel cannot be compiled: {log.decode()}")
    binary = b" " * _check(nvrtc.nvrtcGetCUBINSize(program))
    _check(nvrtc.nvrtcGetCUBIN(program, binary))
    _check(nvrtc.nvrtcDestroyProgram(program))
    return binary


def _check(answer: Sequence[Any]) -> Any:
    """Return what a function of CUDA gives; raise its error."""
    status, *results = answer
    if status != 0:
        raise RuntimeError(f"CUDA: {status!r}")
    return results[0] if results else None
