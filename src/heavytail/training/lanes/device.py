"""The GPU: finding it, its free memory, and copying arrays to and from it.

Under numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) the same code runs slowly on the CPU, on NumPy arrays:
that is how it is tested without a GPU.
"""

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Ints
from heavytail.errors import InputError, install_extra
from heavytail.kernels.compiling import config

DeviceArray: TypeAlias = Any  # an array in the memory of the GPU
BLOCK = 8 if config.ENABLE_CUDASIM else 128  # threads started together; the simulator's are slow to start
INSTALL = install_extra("cuda")
CHUNK_SECONDS, DESKTOP_SECONDS = 1.0, 0.2  # longest time to keep the GPU busy; shorter if it draws a desktop


class Device(NamedTuple):
    """A GPU."""

    name: str
    free_bytes: int


def has_cuda() -> bool:
    """Return whether numba-cuda, or its simulator, is installed."""
    return simulated() or find_spec("numba_cuda") is not None


def find_cuda() -> Any:
    """Return numba's CUDA module; raise a one-line error that says what is missing."""
    if not has_cuda():
        raise InputError(f"lanes need numba-cuda; {INSTALL}")
    try:
        return _import_cuda()
    except ImportError as error:
        raise InputError(
            "numba-cuda is installed, but something it needs is missing"
            f" ({' '.join(str(error).split())}); {INSTALL}"
        ) from None


@cache
def _import_cuda() -> Any:
    # So batches in different threads do not wait for each other
    os.environ.setdefault("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "1")
    # Small studies are legitimate, so they need no warning
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("numba.cuda")


def numba_cuda(name: str) -> Any:
    """Import a module of numba-cuda, an optional dependency."""
    return import_module(f"numba.cuda.{name}")


def simulated() -> bool:
    """Return whether numba's simulator stands in for a GPU."""
    return bool(config.ENABLE_CUDASIM)


def find_device() -> Device:
    """Return the GPU; raise a one-line error that says why none can be used."""
    cuda = find_cuda()
    if simulated():
        return Device("numba's simulator", 2**30)
    try:
        context = cuda.current_context()
    except Exception as error:  # noqa: BLE001 - drivers fail in many ways, each with its own class
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"no NVIDIA GPU can be used here ({reason}); use --engine local, or install its driver and"
            " see what nvidia-smi says"
        ) from None
    name, free = context.device.name, int(context.get_memory_info().free)
    return Device(name.decode() if isinstance(name, bytes) else str(name), free)


def chunk_seconds() -> float:
    """Return how long a kernel should take: between kernels all lanes wait for the slowest."""
    if simulated():
        return DESKTOP_SECONDS
    draws_desktop = find_cuda().current_context().device.KERNEL_EXEC_TIMEOUT  # the driver sets a limit
    return DESKTOP_SECONDS if draws_desktop else CHUNK_SECONDS


def to_device(array: npt.NDArray[Any]) -> DeviceArray:
    """Copy an array to the GPU."""
    array = np.ascontiguousarray(array)
    return array.copy() if simulated() else _allocating(find_cuda().to_device, array)


def to_host(array: DeviceArray) -> npt.NDArray[Any]:
    """Copy an array back from the GPU."""
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def blocks(lanes: int) -> int:
    """Return the number of thread blocks that this many lanes need."""
    return (lanes + BLOCK - 1) // BLOCK


def _allocating(make: Any, *arguments: Any) -> DeviceArray:
    """Call `make`; raise a one-line error if the GPU has too little memory."""
    from numba.cuda.cudadrv.driver import CudaAPIError  # here, because only numba-cuda has it

    try:
        return make(*arguments)
    except (CudaAPIError, MemoryError) as error:
        if "OUT_OF_MEMORY" not in str(error).upper().replace(" ", "_") and not isinstance(error, MemoryError):
            raise
        raise InputError(
            "the GPU has too little memory left for these lanes; run fewer at once with --lanes, or"
            " free it (nvidia-smi shows what uses it)"
        ) from None


def broadcast(few: npt.NDArray[Any], which: Ints) -> DeviceArray:
    """Make on the GPU the array [..., L] of all lanes; lane i gets ``few[which[i]]``."""
    if simulated():
        return np.ascontiguousarray(np.moveaxis(few[which], 0, -1))
    flat = few.reshape(len(few), -1)
    out = _allocating(find_cuda().device_array, (flat.shape[1], len(which)), few.dtype)
    broadcast_kernel()[blocks(len(which)), BLOCK](to_device(flat), to_device(which.astype(np.int32)), out)
    return out.reshape(*few.shape[1:], len(which))


@cache
def broadcast_kernel() -> Any:
    """Compile the kernel that gives lane i of [n, L] a copy of few[which[i]]."""
    cuda = find_cuda()

    # Numba finds the types.
    def broadcast_rows(few, which, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        i = cuda.grid(1)
        if i < which.size:
            for k in range(out.shape[0]):
                out[k, i] = few[which[i], k]

    return cuda.jit(broadcast_rows)
