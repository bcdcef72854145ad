"""Functions of JAX as C, compiled by g++ and called."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from heavytail.deep.c_source import c_function
from heavytail.deep.words import count_words, from_words, to_words

PRELUDE = """
#include <math.h>
#include <string.h>
#define INLINE extern "C"
static float as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static int as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
"""


def in_c(
    folder: Path, function: Callable[..., tuple[Any, ...]], *examples: Any
) -> Callable[..., tuple[Any, ...]]:
    """The same function of the same types of arguments, written in C."""
    source, library = folder / "function.cpp", folder / "function.so"
    source.write_text(PRELUDE + c_function("called", function, *examples))
    # Products and sums are rounded one by one, as XLA rounds them.
    command = ["g++", "-O1", "-ffp-contract=off", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    called, shapes = ctypes.CDLL(str(library)).called, jax.eval_shape(function, *examples)

    def call(*arguments: Any) -> tuple[Any, ...]:
        given = [np.asarray(to_words(jax.tree.map(jnp.asarray, argument), 0)) for argument in arguments]
        results = [np.zeros(count_words(shape), np.int32) for shape in shapes]
        called(*(ctypes.c_void_p(words.ctypes.data) for words in (*given, *results)))
        return tuple(_numbers(words, shape) for words, shape in zip(results, shapes, strict=True))

    return call


def _numbers(words: Any, shape: Any) -> Any:
    like = jax.tree.map(lambda leaf: jnp.zeros((1, *leaf.shape), leaf.dtype), shape)
    return jax.tree.map(lambda leaf: np.asarray(leaf[0]), from_words(jnp.asarray(words)[None], like))
