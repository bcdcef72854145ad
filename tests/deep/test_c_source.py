"""Functions of JAX as C against themselves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from heavytail.deep.c_source import NoSourceError, c_function
from heavytail.deep.envs import environment_names, find_environment
from heavytail.deep.envs._environment import scale_observation
from support.c_functions import in_c

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda x, n: (x + 2.0 * x / 7.0 - x * x, -x, jnp.abs(x), x**3, jnp.square(x)),
    "of whole numbers": lambda x, n: (n + 3, n * n, n % 5, abs(n), n << 2, n >> 1, n & 6, n | 1, n ^ 3, ~n),
    "comparisons": lambda x, n: (x < 1.0, x >= n, (x > 0.0) & (n != 2), ~(x <= 0.5), (n == 1) | (x > 3.0)),
    "choices": lambda x, n: (
        jnp.where(x > n, x, 1.0),
        jnp.clip(x, -1.0, 2.0),
        jnp.maximum(n, 1),
        jnp.sign(x),
    ),
    "types": lambda x, n: (
        x.astype(jnp.int32),
        n.astype(jnp.float32),
        n.astype(bool),
        (x > 0.0).astype(jnp.int32),
    ),
    "bits": lambda x, n: (x.view(jnp.int32), n.view(jnp.float32), jnp.copysign(3.0, x), jnp.isfinite(x)),
    "functions": lambda x, n: (jnp.sin(x), jnp.cos(x), jnp.tanh(x), jnp.exp(0.1 * x), jnp.floor(x)),
    "of positive numbers": lambda x, n: (jnp.sqrt(abs(x)), jnp.log1p(abs(x)), (1.0 + abs(x)) ** 0.3),
    "rests": lambda x, n: (x % 3.0, jnp.fmod(x, 2.0), (x + jnp.pi) % (2 * jnp.pi)),
    "moves": lambda x, n: (
        x.T,
        x.reshape(-1),
        x[:, 1:],
        x[0],
        jnp.stack([x, x + 1.0]),
        jnp.concatenate([x, x]),
    ),
    "more moves": lambda x, n: (
        x[::-1],
        jnp.broadcast_to(x[0], (2, 3)),
        jnp.array([1.0, 2.0, 3.0]) * x,
        tuple(x),
    ),
    "sums": lambda x, n: (
        x.sum(),
        x.sum(axis=0),
        x.max(axis=1),
        x.min(),
        (x > 0.0).any(),
        (x > 0.0).all(axis=0),
    ),
    "products": lambda x, n: (x @ x.T, x @ x[0], x.T @ x[:, 0]),
    "places": lambda x, n: (jnp.argmax(x[0]), jnp.argmax(jnp.array([1.0, 5.0, 5.0])), jnp.arange(3) + n[0]),
    "bits to the right": lambda x, n: (
        jax.lax.shift_right_logical(n, jnp.int32(1)),
        jax.lax.shift_right_arithmetic(n, jnp.int32(1)),
        n.view(jnp.uint32) >> 3,
        jnp.abs(-0.0 * x).view(jnp.int32),
    ),
    "no numbers": lambda x, n: (
        jnp.argmax(jnp.log(x[0])),
        jnp.maximum(1.0, jnp.log(x)),
        jnp.minimum(jnp.log(x), 1.0),
        jnp.clip(jnp.log(x), -1.0, 1.0),
        jnp.sign(jnp.log(x)),
    ),
    "cases": lambda x, n: (
        jnp.select([x < 0.0, x < 2.0], [-1.0, x], 9.0),
        jnp.select([x[0, 0] < 0.0, x[0, 0] < 2.0], [-1.0, 5.0], 9.0),
        jax.vmap(lambda k: jax.lax.switch(k % 3, [lambda: 1.0, lambda: 2.0, lambda: 3.0]))(n[0]),
        jax.lax.clamp(5.0, x, 2.0),
        x * (-jnp.array([-0.0, 1.0, 2.0])),
    ),
    "by nothing": lambda x, n: (jax.lax.div(n, n - n), jax.lax.rem(n, n - n), jax.lax.div(n, n | 1)),
    "calls": lambda x, n: (jax.nn.relu(x), jax.jit(lambda y: y * 2.0)(x)),
    "constants": lambda x, n: (x + jnp.inf, jnp.minimum(x, -1e-30), jnp.float32(-0.1) * x, n - 7),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_c_calculates_what_jax_does(name: str, tmp_path: Path) -> None:
    def function(x: Any, n: Any) -> tuple[Any]:
        return (FUNCTIONS[name](x, n),)

    draws, numbers = np.random.default_rng(1), np.array([-7, -1, 0, 1, 2, 9])
    examples = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int32)
    called = in_c(tmp_path, function, *examples)
    for _ in range(50):
        x = np.float32(draws.choice([0.0, 1.0, 3.5, -2.0, *draws.normal(scale=20.0, size=4)], (2, 3)))
        n = draws.choice(numbers, (2, 3)).astype(np.int32)
        expected, found = jax.tree.leaves(function(x, n)), jax.tree.leaves(called(x, n))
        for e, f in zip(expected, found, strict=True):
            assert e.dtype == f.dtype
            if e.dtype == np.float32:
                np.testing.assert_allclose(f, e, rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(f, e)


@pytest.mark.parametrize("name", environment_names())
def test_environments_move_alike_in_c(name: str, tmp_path: Path) -> None:
    """A thousand steps by random actions, each from JAX's state."""
    env = find_environment(name)

    def move(state: Any, action: Any) -> tuple[Any]:
        moved, reward, terminated = env.step(state, action)
        return ((moved, reward, terminated, scale_observation(env, env.observe(moved))),)

    state, draws, of_jax = env.reset(jax.random.key(1)), np.random.default_rng(2), jax.jit(move)
    called = in_c(tmp_path, move, state, np.int32(0))
    for _ in range(1_000):
        action = np.int32(draws.integers(env.n_actions))
        expected = of_jax(state, action)
        for e, f in zip(jax.tree.leaves(expected), jax.tree.leaves(called(state, action)), strict=True):
            np.testing.assert_allclose(f, e, rtol=2e-5, atol=2e-5)
        state = env.reset(jax.random.key(action)) if expected[0][2] else expected[0][0]


def test_a_result_may_lie_where_its_argument_does() -> None:
    lines = c_function("f", lambda x: (x[::-1],), np.zeros(2, np.float32)).splitlines()
    written = [line.strip().startswith("out0") for line in lines[1:-1]]
    assert written == [False, False, True, True]


@pytest.mark.parametrize(
    ("function", "example", "what"),
    [
        (jnp.sort, np.zeros(3, np.float32), "sort"),
        (lambda x: x + 1, np.zeros(3, np.uint8), "uint8"),
        (lambda x: jnp.einsum("bi,bi->b", x, x), np.zeros((2, 3), np.float32), "products"),
        (lambda x: x**-2, np.zeros(3, np.float32), "integer_pow"),
        (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: 2.0 * y, x), np.zeros(3, np.float32), "scan"),
        (lambda x: x, jax.random.key(0), "key"),
        (lambda x: jnp.sum(x[:0]), np.zeros(3, np.float32), "nothing"),
        (lambda x: [jax.debug.print("{}", x), x][1], np.float32(0.0), "no result"),
    ],
)
def test_what_cannot_be_said_in_c_is_named(function: Any, example: Any, what: str) -> None:
    with pytest.raises(NoSourceError, match=what):
        c_function("f", lambda x: (function(x),), example)
