import copy
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.gym import DenoiseReward, MDPEnv
from heavytail.gym import denoise as core
from heavytail.gym.adapters import Visit
from heavytail.gym.ids import register_ids
from support.examples import examples
from support.noisy_envs import HEAVY, noisy, rollout

register_ids()
KEYS = ("raw_reward", "reward_samples")


class Paying(gymnasium.Env[Any, Any]):
    """Is in one of two states, drawn anew at each step, and pays as it is told; episodes have ten steps."""

    def __init__(self, pay: Callable[[int, int, np.random.Generator], float]) -> None:
        self.observation_space = self.action_space = spaces.Discrete(2)
        self.pay, self.state, self.t = pay, 0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.t += 1
        reward = self.pay(self.state, int(action), self.np_random)
        self.state = int(self.np_random.integers(2))
        return self.state, reward, self.t == 10, False, {}


def rewards(seen: list[Any]) -> list[tuple[float, float]]:
    return [(step[2], step[5]["raw_reward"]) for step in seen if len(step) > 2]


# What becomes of rewards


def test_heavy_noise_is_removed_and_nothing_else_is_changed() -> None:
    """Rewards are 1; of the raw ones every tenth is more than 30 away, the largest by thousands."""
    bare = rollout(noisy("CartPole-v1"), 4000, seed=0)
    done = rollout(DenoiseReward(noisy("CartPole-v1")), 4000, seed=0)
    for before, after in zip(bare, done, strict=True):
        if len(before) == 2:
            np.testing.assert_equal(after, before)
            continue
        np.testing.assert_equal((*after[:2], *after[3:5]), (*before[:2], *before[3:5]))
        added = {"raw_reward": before[2], "reward_samples": after[5]["reward_samples"]}
        assert after[5] == {**before[5], **added}
        assert [type(after[5][key]) for key in KEYS] == [float, int]
        assert type(after[2]) is float
    raw = np.array([x for _, x in rewards(done)])
    left = np.array([r for r, _ in rewards(done)]) - 1.0
    assert np.abs(raw - 1.0).max() > 1000
    assert np.abs(left[2000:]).max() < 2.0
    assert np.sqrt(np.mean(left[2000:] ** 2)) < 0.5


@pytest.mark.parametrize("noise", ["stable", "pareto"])
def test_differences_between_states_and_actions_stay(noise: str) -> None:
    """Means, not medians: Pareto's median is more than five below its mean."""
    table = np.array([[-1.0, 20.0], [5.0, -30.0]])
    stable = iter(HEAVY.sample(8000, seed=0).tolist())

    def pay(s: int, a: int, rng: np.random.Generator) -> float:
        return float(table[s, a] + (next(stable) if noise == "stable" else 10.0 * (rng.pareto(2.0) - 1.0)))

    env = DenoiseReward(Paying(pay))
    rollout(env, 8000, seed=0)
    found = [[env.estimate(s, a) for a in range(2)] for s in range(2)]
    np.testing.assert_allclose(found, table, atol=3.0)


def test_the_reward_of_a_terminal_step_is_one_of_its_own() -> None:
    class Goal(Paying):
        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            state, reward, terminated, truncated, info = super().step(action)
            return state, reward + 100.0 * terminated, terminated, truncated, info

    noise = iter(HEAVY.sample(2000, seed=1).tolist())
    env = DenoiseReward(Goal(lambda s, a, rng: next(noise)))
    rollout(env, 2000, seed=0)
    assert abs(env.estimate(0, 0)) < 2.0
    assert abs(env.estimate(0, 0, terminated=True) - 100.0) < 5.0


def test_rare_prizes_are_averaged_not_trimmed() -> None:
    env = DenoiseReward(Paying(lambda s, a, rng: 10.0 * float(s == a == 1 and rng.random() < 0.1)))
    rollout(env, 4000, seed=0)
    assert env.estimate(1, 1) == pytest.approx(1.0, abs=0.3)
    assert [env.estimate(s, a) for s, a in ((0, 0), (0, 1), (1, 0))] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CliffWalking-v1", "CartPole-v1", "Acrobot-v1"])
def test_without_noise_rewards_come_out_as_they_are(env_id: str) -> None:
    """But for some of the first, when nothing is known yet."""
    pairs = rewards(rollout(DenoiseReward(gymnasium.make(env_id)), 600, seed=0))
    assert all(reward == raw for reward, raw in pairs[200:])
    assert sum(reward != raw for reward, raw in pairs) < 20


def test_rewards_that_vary_within_a_cell_are_smoothed() -> None:
    pairs = np.array(rewards(rollout(DenoiseReward(gymnasium.make("Pendulum-v1")), 3000, seed=0)))[1000:]
    assert np.std(pairs[:, 0] - pairs[:, 1]) < 0.75 * np.std(pairs[:, 1])


def test_skewed_noise_does_not_move_the_mean() -> None:
    """Of many states, each with too few samples to tell: the residuals of all of them do."""
    rng = np.random.default_rng(0)
    denoiser = core.Denoiser(spaces.Discrete(200), spaces.Discrete(1))
    states, noise = rng.integers(200, size=6000), 5.0 * (rng.pareto(2.0, 6000) - 1.0)
    found = [
        denoiser.apply([Visit(s, 0, 100.0 * (s % 2) + x, False)])[0][0] - 100.0 * (s % 2)
        for s, x in zip(states.tolist(), noise.tolist(), strict=True)
    ]
    assert abs(np.mean(found[3000:])) < 0.75  # the median of the noise is 2.9 below its mean


steady = examples(25)


@steady
@given(
    rewards=st.lists(st.integers(-1000, 1000), min_size=1, max_size=40),
    doublings=st.integers(-60, 60),
    shift=st.integers(-(2**20), 2**20),
)
def test_rewards_of_any_scale_and_with_any_constant_added_are_treated_alike(
    rewards: list[int], doublings: int, shift: int
) -> None:
    """Powers of 2 and whole numbers, so that little is rounded."""

    def filtered(values: list[float]) -> list[float]:
        denoiser = core.Denoiser(spaces.Discrete(3), spaces.Discrete(2))
        visits = [(i % 3, i % 2, value, i % 5 == 0) for i, value in enumerate(values)]
        return [denoiser.apply([Visit(s, a, x, end)])[0][0] for s, a, x, end in visits]

    plain = filtered([float(x) for x in rewards])
    size = 1.0 + max(map(abs, rewards))
    scaled = filtered([math.ldexp(x, doublings) for x in rewards])
    np.testing.assert_allclose(
        scaled, np.ldexp(plain, doublings), rtol=1e-9, atol=1e-9 * math.ldexp(size, doublings)
    )
    shifted = filtered([float(x + shift) for x in rewards])
    np.testing.assert_allclose(np.array(shifted) - shift, plain, atol=1e-8 * (size + abs(shift)))
    assert all(min(rewards) - 1e-9 <= x <= max(rewards) + 1e-9 for x in plain[:1])


@pytest.mark.parametrize("reward", [math.inf, -math.inf, 1e308])
def test_of_an_infinite_reward_a_finite_one_is_made(reward: float) -> None:
    denoiser = core.Denoiser(spaces.Discrete(1), spaces.Discrete(1))
    found = [denoiser.apply([Visit(0, 0, x, False)])[0][0] for x in [1.0, 2.0, reward] + 50 * [1.0, 2.0]]
    assert all(map(math.isfinite, found))


# Cells


def test_samples_are_counted_by_the_state_that_the_action_was_taken_in() -> None:
    env = DenoiseReward(MDPEnv("six_arms", horizon=8))
    counts: dict[Any, int] = {}
    state, _ = env.reset(seed=0)
    for action in np.random.default_rng(0).integers(6, size=100).tolist():
        following, _, terminated, truncated, info = env.step(action)
        n = counts[state, action] = counts.get((state, action), 0) + 1
        assert info["reward_samples"] == n
        state = env.reset()[0] if terminated or truncated else following


def test_when_there_is_no_room_for_more_cells_the_wider_ones_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "MAX_CELLS", 100)
    env = DenoiseReward(noisy("Pendulum-v1"))
    pairs = rewards(rollout(env, 1000, seed=0))
    assert env.cells == 99
    assert all(math.isfinite(reward) for reward, _ in pairs)
    assert env.state_dict()["sketch/histogram/n"].size <= 128


def test_every_kind_of_space_has_cells() -> None:
    box = spaces.Box(-1.0, 1.0, (2, 2))
    for space in (
        box,
        spaces.Dict({"a": box, "b": spaces.Discrete(2)}),
        spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)]),
        spaces.MultiBinary(2),
        spaces.Text(2),
    ):
        denoiser = core.Denoiser(space, space)
        space.seed(0)
        for _ in range(5):
            value = space.sample()
            assert denoiser.apply([Visit(denoiser.code(value), value, 1.0, False)])[0][0] == 1.0
        assert denoiser.cells >= 5


def test_looking_changes_nothing() -> None:
    env = DenoiseReward(noisy("CartPole-v1"))
    with pytest.raises(ht.InputError, match="estimate: there was no reward yet; take a step first"):
        env.estimate(np.zeros(4), 0)
    rollout(env, 100, seed=0)
    before = env.state_dict()
    assert math.isfinite(env.estimate(np.full(4, 3.0), 1, terminated=True))
    assert env.cells == len(before["levels"]) - 1
    assert rollout(copy.deepcopy(env), 30, seed=1)[5][2] == rollout(env, 30, seed=1)[5][2]


# Saving


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": None}, "steps is missing"),
        ({"steps": "odd"}, r"steps is \[5, 6, 0\]; it must be counts, each at most the one before"),
        ({"ends": "short"}, "ends is bool.* where bool.* is expected"),
        ({"levels": "same"}, "a cell appears twice, or the first cells are not those of all rewards"),
        ({"sketch/histogram/n": "short"}, "there are .* cells, and samples of 5"),
        ({"sketch/histogram/n": "zero"}, "there is a cell without samples"),
        ({"sketch/summary": None}, "sketch/summary is missing"),
        ({"sketch/histogram/block": "wild"}, "sketch/histogram/block holds 1000000"),
        ({"observation_hash/matrix": None}, "observation_hash/matrix is missing"),
    ],
)
def test_a_state_that_is_wrong_is_told_in_one_line_and_changes_nothing(
    change: dict[str, str | None], message: str
) -> None:
    env = DenoiseReward(noisy("CartPole-v1"))
    rollout(env, 50, seed=0)
    arrays, before = env.state_dict(), env.state_dict()
    made: dict[str, Callable[[Any], Any]] = {
        "same": lambda old: np.full_like(old, 1),
        "zero": np.zeros_like,
        "odd": lambda old: np.array([5, 6, 0]),
        "short": lambda old: old[:5],
        "wild": lambda old: np.full_like(old, 1000000),
    }
    for name, value in change.items():
        old = arrays.pop(name)
        if value is not None:
            arrays[name] = made[value](old)
    if "same" in change.values():
        arrays["ends"] = np.zeros_like(arrays["ends"])
    with pytest.raises(ht.InputError, match=message) as caught:
        env.load_state_dict(arrays)
    assert "\n" not in str(caught.value)
    np.testing.assert_equal(env.state_dict(), before)


def test_a_space_that_cannot_be_hashed_is_one_line() -> None:
    with pytest.raises(
        ht.InputError, match=r"Sequence.* cannot be hashed by projection; make numbers of it first"
    ):
        core.Denoiser(spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2))
