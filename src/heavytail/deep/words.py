"""Trees of arrays as 32-bit words, and back: what goes into a kernel and comes out of it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WORD_BYTES = 4


def count_words(tree: Any) -> int:
    """Count the numbers of a tree of arrays, or of their shapes."""
    return sum(int(np.prod(np.shape(leaf))) for leaf in jax.tree.leaves(tree))


def to_words(tree: Any, axes: int) -> jax.Array:
    """Write the numbers of a tree as words, behind so many axes that all its leaves have.

    >>> to_words((jnp.array([1.0]), jnp.array([True])), 1)
    Array([[1065353216,          1]], dtype=int32)
    """

    def words(leaf: jax.Array) -> jax.Array:
        flat = leaf.reshape(*leaf.shape[:axes], -1)
        is_word = flat.dtype.itemsize == WORD_BYTES
        return jax.lax.bitcast_convert_type(flat, jnp.int32) if is_word else flat.astype(jnp.int32)

    return jnp.concatenate([words(leaf) for leaf in jax.tree.leaves(tree)], axis=-1)


def from_words(words: jax.Array, like: Any) -> Any:
    """Read the numbers of a tree like another one from words, behind one axis."""
    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([count_words(leaf[0]) for leaf in leaves])[:-1]

    def read(part: jax.Array, leaf: jax.Array) -> jax.Array:
        is_word = leaf.dtype.itemsize == WORD_BYTES
        numbers = jax.lax.bitcast_convert_type(part, leaf.dtype) if is_word else part.astype(leaf.dtype)
        return numbers.reshape(leaf.shape)

    parts = jnp.split(words, ends, axis=-1)
    return jax.tree.unflatten(structure, [read(*pair) for pair in zip(parts, leaves, strict=True)])
