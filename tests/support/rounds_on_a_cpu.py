"""The kernel of `heavytail.deep.fused_rounds`, compiled by g++, with a coroutine for each thread of a GPU."""

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from heavytail.deep.cuda_kernel import Kernel
from heavytail.deep.fused_rounds import PRELUDE, read_source

HEADER = Path(__file__).with_name("hopper_on_a_cpu.hpp")
MAIN = """
extern "C" bool start(const Arrays *arrays, int n_runs, unsigned seed) {
    bool ended = true;
    for (int run = 0; run < n_runs; ++run) {
        auto kernel = [&] { run_rounds(*arrays, n_runs); };
        ended = ended && run_cluster(run * RANKS, RANKS, THREADS, sizeof(Shared), seed, kernel);
    }
    return ended;
}
"""
Call = Callable[[Kernel, int, Sequence[jax.Array], Sequence[jax.Array]], list[jax.Array]]


def call_on_a_cpu(folder: Path, seed: int) -> Call:
    """What stands in for `call_kernel`; whose turn it is follows from the seed."""

    def call(
        kernel: Kernel, n_runs: int, given: Sequence[jax.Array], changing: Sequence[jax.Array]
    ) -> list[jax.Array]:
        library = folder / f"{abs(hash(kernel.source))}.so"
        if not library.exists():
            text = kernel.source.replace(PRELUDE, f'#include "{HEADER}"').replace(
                read_source("hopper.cu"), ""
            )
            library.with_suffix(".cpp").write_text(text + MAIN)
            command = ["g++", "-std=c++17", "-O1", "-fno-strict-aliasing", "-ffp-contract=off", "-w"]
            command += ["-shared", "-fPIC", str(library.with_suffix(".cpp")), "-o", str(library)]
            subprocess.run(command, check=True)
        arrays = [np.array(x) for x in (*given, *changing)]  # copies
        pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        assert ctypes.CDLL(str(library)).start(pointers, n_runs, ctypes.c_uint(seed)), "threads wait for ever"
        return [jnp.asarray(x) for x in arrays[len(given) :]]

    return call
