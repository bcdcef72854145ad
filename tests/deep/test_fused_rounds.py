"""What the kernel of rounds is made of: its functions against DQN's, its text and its limits.

The kernel itself is tested on a GPU (`make test-gpu`).
"""

import inspect
import subprocess
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from heavytail.deep import fused_rounds
from heavytail.deep.agents import heavy_dqn, robust_dqn
from heavytail.deep.batch import draw_batch
from heavytail.deep.dqn import act, action_values, learning_rate
from heavytail.deep.envs import environment_names
from heavytail.deep.fused_rounds import (
    DECAYS,
    MAX_ACTIONS,
    MAX_OBSERVED,
    MAX_STATE,
    MAX_STEPS,
    SHARED_BYTES,
    code,
    draw_words,
    fits,
    fixed_of,
    keep,
    make_kernel,
    periods_at_once,
    rates,
    step,
    walk_of,
)
from heavytail.deep.settings import WORDS_PER_STEP
from heavytail.deep.words import to_words
from support.c_functions import in_c

PAPER: dict[str, Any] = {"replay": 200, "noise_scale": 5.0, "noise_alpha": 1.5, "cap": 30}
MAX_BITS = 31


def first(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[0], tree)


@pytest.mark.parametrize("name", environment_names())
def test_its_functions_make_the_steps_of_dqn(name: str, tmp_path: Path) -> None:
    """A step, a code and a kept reward are all that `act` does, in JAX and up to rounding in C."""
    learner = heavy_dqn(name, bits=4, total_steps=200, **PAPER)
    env, settings = learner.env, learner.settings
    drawn = draw_batch(env, settings, learner.runs, jnp.int32(0))[0]
    run, state = first(learner.runs), first(learner.states)
    fixed, advance = fixed_of(run, state), jax.jit(partial(act, env, settings))
    of_jax, hash_code, transform = (jax.jit(f) for f in (partial(step, env, settings), code, keep))
    in_words = None
    for t in range(48):
        randomness = jax.tree.map(lambda leaf, t=t: leaf[t // 2, t % 2, 0], drawn)
        now = (jnp.int32(t), action_values(settings, state.network, state.observation))
        after = advance(run, state, randomness, jnp.int32(t))
        walk, row = of_jax(fixed, walk_of(state), randomness, now)
        in_words = in_words or in_c(
            tmp_path, partial(step, env, settings), fixed, walk_of(state), randomness, now
        )
        for found in ((walk, row), in_words(fixed, walk_of(state), randomness, now)):
            for e, f in zip(
                jax.tree.leaves(walk_of(after)[:-1]), jax.tree.leaves(found[0][:-1]), strict=True
            ):
                np.testing.assert_allclose(f, e, rtol=1e-4, atol=1e-5)
            assert found[0].totals.episodes == after.totals.episodes
        (hashed,) = hash_code(fixed, state.observation)
        n = state.counts[hashed, row[-2]] + 1
        ((kept, beyond),) = transform(fixed, (jax.lax.bitcast_convert_type(row[-4], jnp.float32), n))
        assert after.counts[hashed, row[-2]] == n
        assert after.totals.truncated == state.totals.truncated + beyond
        row = row.at[-1].set(hashed).at[-4].set(jax.lax.bitcast_convert_type(kept, jnp.int32))
        found, expected = (x.view(jnp.float32)[:-3] for x in (row, after.replay[t]))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(row[-3:], after.replay[t][-3:])
        state = after


def test_rates_are_those_of_adam(tmp_path: Path) -> None:
    learner = heavy_dqn("mountain_car", **PAPER)
    settings, run = learner.settings, first(learner.runs)
    fixed, gradient, adam = (
        fixed_of(run, first(learner.states)),
        jnp.float32(0.3),
        optax.scale_by_adam(eps=0.0),
    )
    in_words = in_c(tmp_path, partial(rates, settings), fixed, (jnp.int32(1), jnp.int32(1)))
    defaults = inspect.signature(optax.scale_by_adam).parameters
    assert tuple(defaults[name].default for name in ("b1", "b2")) == DECAYS
    state = adam.init(gradient)
    for updates in range(1, 40):
        direction, state = adam.update(gradient, state)
        t = jnp.int32(1000 * updates)
        for calculate in (partial(rates, settings), in_words):
            ((of_mean, of_square),) = calculate(fixed, (t, np.int32(updates)))
            expected = float(
                learning_rate(settings, run.learning_rate, run.last_learning_rate, t) * direction
            )
            found_step = float(of_mean * state.mu / np.sqrt(of_square * state.nu))
            assert found_step == pytest.approx(expected, rel=1e-4)  # 1 - 0.999 has few digits


def test_words_are_those_of_the_periods() -> None:
    learner = heavy_dqn("cart_pole", runs=[{"seed": seed} for seed in range(3)], **PAPER)
    words = draw_words(learner.env, learner.settings, learner.runs, jnp.int32(7))
    rounds = learner.settings.target_every // learner.settings.update_every
    assert periods_at_once(learner.settings) == 10
    assert words.shape == (10 * rounds, 3, 2 * (3 + 4) + 64)
    randomness, bits = draw_batch(learner.env, learner.settings, learner.runs, jnp.int32(9))
    of_step = jax.tree.map(lambda leaf: leaf[4, 1], randomness)
    np.testing.assert_array_equal(words[2 * rounds + 4, :, 7:14], to_words(of_step, 1))
    np.testing.assert_array_equal(words[2 * rounds + 4, :, 14:], bits[4].view(jnp.int32))


def test_it_is_for_the_papers_network_and_batch() -> None:
    learner = heavy_dqn("mountain_car", **PAPER)
    assert fits(learner.env, learner.settings)
    others: dict[str, Any] = {"hidden": (512,), "batch": 32, "transform_at": "replay", "update_every": 5}
    others |= {"bits": 30}
    for name, value in others.items():
        assert not fits(learner.env, learner.settings._replace(**{name: value}))
    assert not fits(learner.env, robust_dqn("mountain_car").settings)
    assert not fits(learner.env._replace(n_actions=MAX_ACTIONS + 1), learner.settings)
    large = learner.env._replace(reset=lambda key: jnp.zeros(MAX_STATE + 1))
    assert not fits(large, learner.settings)


def test_without_its_gpu_there_is_no_kernel() -> None:
    assert heavy_dqn("mountain_car", **PAPER).kernel is None


def test_an_environment_that_cannot_be_said_in_c_is_left_to_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_rounds, "is_hopper", lambda device: True)
    learner = heavy_dqn("mountain_car", **PAPER)
    assert learner.kernel is not None

    def sorting(state: Any, action: Any) -> Any:
        moved, reward, terminated = learner.env.step(state, action)
        return moved, reward + jnp.sort(jnp.stack(moved))[0], terminated

    env = learner.env._replace(step=sorting)
    assert fused_rounds.find_kernel(env, learner.settings, learner.runs) is None


def test_long_periods_are_drawn_one_by_one() -> None:
    settings = heavy_dqn("mountain_car", target_every=2_000, total_steps=4_000, **PAPER).settings
    assert periods_at_once(settings) == 1


def test_the_text_holds_what_runs_share() -> None:
    learner = heavy_dqn("acrobot", loss="squared", bits=5, **{**PAPER, "replay": 321})
    source = make_kernel(learner.env, learner.settings, learner.runs).source
    for line in ("int D = 6;", "int A = 3;", "int REPLAY = 321;", "int HUBER = 0;", "int VISITS = 96;"):
        assert f"constexpr {line}" in source
    assert f"constexpr int RANDOM = {WORDS_PER_STEP - 3 + 4};" in source


def test_the_largest_runs_fit_a_multiprocessor(tmp_path: Path) -> None:
    """Its record of shared memory, for the largest sizes that are let through, compiled by g++."""
    text = (files("heavytail.deep") / "rounds.cu").read_text()
    records = text[text.index("constexpr int H") : text.index("static_assert(sizeof(Shared)")]
    state, observed = MAX_STATE + MAX_OBSERVED + 5, MAX_OBSERVED
    sizes = {
        "D": observed,
        "A": MAX_ACTIONS,
        "STEPS": MAX_STEPS,
        "WORDS": 2 * observed + 4,
        "RANDOM": 3 + MAX_STATE,
        "STATE": state,
        "FIXED": 8 + MAX_BITS * (observed + 1),
    }
    lines = [f"constexpr int {name} = {size};" for name, size in sizes.items()]
    main = '#include <cstdio>\nint main() { printf("%zu", sizeof(Shared)); }'
    (tmp_path / "size.cpp").write_text("\n".join([*lines, records, main]))
    subprocess.run(["g++", "-std=c++17", "size.cpp", "-o", "size"], cwd=tmp_path, check=True)  # noqa: S607
    found = subprocess.run([tmp_path / "size"], capture_output=True, check=True, text=True)
    assert 200_000 < int(found.stdout) <= SHARED_BYTES
