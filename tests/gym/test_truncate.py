import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import RecordEpisodeStatistics

import heavytail as ht
from heavytail.agent_file import FORMAT, METADATA
from heavytail.gym import (
    AddRewardNoise,
    MDPEnv,
    SimHash,
    TruncateReward,
    visit_counter,
)
from heavytail.gym.ids import register_ids
from heavytail.gym.reward_transforms import coefficient_from, truncate
from support.noisy_envs import HEAVY, noisy, rollout
from support.processes import python

register_ids()
IDS = sorted(i for i in gymnasium.registry if i.startswith("heavytail/"))
KEYS = ("raw_reward", "reward_threshold", "reward_truncated")

Env = gymnasium.Env[Any, Any]
GROWING: dict[str, Any] = {"epsilon": 0.05, "coefficient": 0.5}


class Paying(gymnasium.Env[Any, Any]):
    """Observes the last action, and pays what it is told to, over and over; the episode never ends."""

    def __init__(self, *rewards: Any) -> None:
        self.observation_space = self.action_space = spaces.Discrete(3)
        self.rewards, self.t = rewards or (0.0,), 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return action, self.rewards[(self.t - 1) % len(self.rewards)], False, False, {"t": self.t}


# What becomes of rewards


@pytest.mark.parametrize("mode", ["zero", "clip"])
@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "MountainCar-v0", "CartPole-v1", "heavytail/SixArms-v0"])
def test_rewards_are_truncated_by_the_visits_and_nothing_else_is_changed(env_id: str, mode: Any) -> None:
    bare = rollout(noisy(env_id), 600, seed=1)
    env = TruncateReward(noisy(env_id), **GROWING, mode=mode)
    done = rollout(env, 600, seed=1)
    counts: dict[Any, int] = {}
    code, truncated = None, 0
    assert env.counter is not None
    for before, after in zip(bare, done, strict=True):
        if len(before) == 2:
            np.testing.assert_equal(after, before)
            code = env.counter.code(after[0])
            continue
        action, observation, raw, *ends, info = before
        n = counts[code, int(action)] = counts.get((code, int(action)), 0) + 1
        threshold = (0.5 * n) ** (1 / 1.05)
        expected = raw if abs(raw) <= threshold else math.copysign(threshold, raw) if mode == "clip" else 0.0
        np.testing.assert_equal(after[:2], (action, observation))
        assert after[2] == pytest.approx(expected, rel=1e-14)
        assert list(after[3:5]) == ends
        added = {
            "raw_reward": raw,
            "reward_threshold": pytest.approx(threshold),
            "reward_truncated": abs(raw) > threshold,
        }
        assert after[5] == {**info, **added}
        assert [type(after[5][key]) for key in KEYS] == [float, float, bool]
        assert type(after[2]) is float
        code, truncated = env.counter.code(observation), truncated + (abs(raw) > threshold)
    assert env.counter.counts == counts
    assert env.truncated_fraction == truncated / 600
    assert 0 < truncated < 600


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "none"}, [-math.inf, -3.0, 0.5, 0.0, 7.0]),
        ({"mode": "sign"}, [-1.0, -1.0, 1.0, 0.0, 1.0]),
        ({"mode": "clip", "limit": 2}, [-2.0, -2.0, 0.5, 0.0, 2.0]),
        ({"limit": 5.0}, [0.0, -3.0, 0.5, 0.0, 0.0]),
    ],
)
def test_the_baselines(options: dict[str, Any], expected: list[float]) -> None:
    rewards = [-math.inf, -3.0, 0.5, 0.0, 7.0]
    env = TruncateReward(Paying(*rewards), **options)
    env.reset(seed=0)
    steps = [env.step(0) for _ in rewards]
    assert [reward for _, reward, *_ in steps] == expected
    assert [info["raw_reward"] for *_, info in steps] == rewards
    assert env.counter is None
    thresholds = {info["reward_threshold"] for *_, info in steps}
    assert thresholds == {{"none": math.inf, "sign": 1.0}.get(options.get("mode", ""), options.get("limit"))}
    assert [info["reward_truncated"] for *_, info in steps] == [
        abs(r) > info["reward_threshold"] for r, (*_, info) in zip(rewards, steps, strict=True)
    ]


def test_baselines_need_no_counter_and_so_no_space_that_can_be_counted() -> None:
    env = Paying(3.0)
    env.observation_space = spaces.Sequence(spaces.Discrete(2))
    wrapped = TruncateReward(env, mode="clip", limit=1.0)
    wrapped.reset()
    assert wrapped.step(0)[1] == 1.0
    with pytest.raises(ht.InputError, match="give a counter"):
        TruncateReward(env, **GROWING)
    assert TruncateReward(env, **GROWING, counter=len).counter is not None


def test_the_count_is_of_the_state_that_the_action_was_taken_in() -> None:
    env = TruncateReward(Paying(), **GROWING)
    env.reset()
    for action in (1, 1, 2, 1):  # in the states 0, 1, 1, 2
        env.step(action)
    env.reset()
    env.step(1)
    assert env.counter is not None
    assert env.counter.counts == {(0, 1): 2, (1, 1): 1, (1, 2): 1, (2, 1): 1}


def test_an_observation_that_is_written_over_is_remembered_as_it_was() -> None:
    class Same(Paying):
        def __init__(self) -> None:
            super().__init__(1.0)
            self.observation_space = spaces.Box(-1.0, 1.0, (1,))
            self.now = np.array([-0.9], np.float32)

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            self.now[:] = -0.9
            return self.now, {}

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.now[:] = 0.9
            return self.now, 1.0, False, False, {}

    env = TruncateReward(Same(), **GROWING)
    env.reset()
    env.step(0)
    env.step(0)
    assert env.counter is not None
    assert list(env.counter.counts) == [(env.counter.code([-0.9]), 0), (env.counter.code([0.9]), 0)]


def test_actions_may_be_numbers_too() -> None:
    env = TruncateReward(gymnasium.make("Pendulum-v1"), **GROWING)
    rollout(env, 300, seed=0)
    assert env.counter is not None
    assert isinstance(env.counter.action_code, SimHash)
    assert sum(env.counter.counts.values()) == 300
    assert max(env.counter.counts.values()) > 1


def test_counters_can_be_shared() -> None:
    counter = visit_counter(spaces.Discrete(3), spaces.Discrete(3))
    envs = [TruncateReward(Paying(), **GROWING, counter=counter) for _ in range(2)]
    for env in envs:
        env.reset()
        env.step(1)
    assert counter.counts == {(0, 1): 2}
    assert envs[0].counter is counter


# The conventions of Gymnasium


def test_counts_go_on_over_a_reset_with_a_seed() -> None:
    env = TruncateReward(gymnasium.make("FrozenLake-v1"), **GROWING)
    thresholds = []
    for _ in range(3):
        env.reset(seed=0)
        thresholds.append(env.step(0)[4]["reward_threshold"])
    assert thresholds == pytest.approx([(0.5 * n) ** (1 / 1.05) for n in (1, 2, 3)])


def test_a_recorder_beneath_records_what_was_paid_and_one_above_what_is_left() -> None:
    rewards = {}
    for place in ("beneath", "above"):
        env: Env = MDPEnv("six_arms", horizon=20)
        env = AddRewardNoise(
            RecordEpisodeStatistics(env) if place == "beneath" else env, ht.laws.constant(100.0)
        )
        env = TruncateReward(env, mode="clip", limit=1.0)
        env = RecordEpisodeStatistics(env) if place == "above" else env
        seen = rollout(env, 20, seed=0)
        rewards[place] = float(seen[20][5]["episode"]["r"])
        assert sum(step[2] for step in seen[1:21]) == 20.0
    assert rewards["above"] == 20.0
    assert rewards["beneath"] not in (20.0, 2000.0)


# The automatic coefficient


def test_auto_sets_the_coefficient_from_the_rewards_so_far_and_then_leaves_it() -> None:
    rewards = [3.0, 0.0, -1.0, math.inf, 2.0, 50.0, 1000.0]
    env = TruncateReward(
        Paying(*rewards), epsilon=0.5, coefficient="auto", warm_up=4, quantile=0.25, visits=2
    )
    env.reset()
    seen: list[float] = []
    for n, r in enumerate(rewards, 1):
        if len(seen) < 4 and 0 < abs(r) < math.inf:
            seen.append(r)
        coefficient = coefficient_from(np.abs(seen).tolist(), 0.5, 0.25, 2)
        _, reward, _, _, info = env.step(0)
        assert env.transform == truncate(0.5, coefficient)
        assert info["reward_threshold"] == pytest.approx((coefficient * n) ** (1 / 1.5))
        assert reward == (r if abs(r) <= info["reward_threshold"] else 0.0)
        assert env.warming_up == (len(seen) < 4)
    assert seen == [3.0, -1.0, 2.0, 50.0]


@pytest.mark.parametrize("reward", [0.0, math.inf, -math.inf])
def test_auto_lets_nothing_through_before_it_has_seen_a_size(reward: float) -> None:
    for mode in ("zero", "clip"):
        env = TruncateReward(Paying(reward), epsilon=0.05, coefficient="auto", mode=mode)
        env.reset()
        assert abs(env.step(0)[1]) < 1e-100


def test_auto_works_where_most_rewards_are_0() -> None:
    env = TruncateReward(gymnasium.make("FrozenLake-v1", is_slippery=False), epsilon=0.05, coefficient="auto")
    for _ in range(20):
        env.reset(seed=0)
        rewards = [env.step(action)[1] for action in (1, 1, 2, 1, 2, 2)]
    assert rewards == [0, 0, 0, 0, 0, 1]


def test_no_outlier_ever_passes_the_warm_up() -> None:
    """Of 3000 rewards with alpha = 1.1, the largest of some thousands.

    The threshold of the 100th visit is about ten medians.
    """
    env = TruncateReward(AddRewardNoise(Paying(1.0), HEAVY), epsilon=0.05, coefficient="auto")
    env.reset(seed=0)
    steps = [env.step(0) for _ in range(3000)]
    assert max(abs(info["raw_reward"]) for *_, info in steps) > 3000
    assert all(abs(reward) <= 12 * n for n, (_, reward, *_) in enumerate(steps, 1))


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.05}, {"coefficient": "auto"}, {"mode": "zero"}])
def test_nothing_need_be_given(options: dict[str, Any]) -> None:
    """Epsilon is the paper's, the coefficient automatic."""
    told = TruncateReward(noisy("CartPole-v1"), epsilon=0.05, coefficient="auto")
    expected = rollout(told, 200, seed=0)
    np.testing.assert_equal(rollout(TruncateReward(noisy("CartPole-v1"), **options), 200, seed=0), expected)
    vector = TruncateReward(gymnasium.make_vec("CartPole-v1", num_envs=2), **options)
    assert vector.warming_up


def test_a_coefficient_that_truncates_most_rewards_is_called_in_question_once() -> None:
    env = TruncateReward(Paying(4.0), epsilon=1.0, coefficient=1e-9)
    env.reset()
    message = "of the first 1,000 rewards 100% were truncated: with coefficient=1e-09 .* suggest 1.6, as"
    for _ in range(999):  # warnings are errors
        env.step(0)
    with pytest.warns(UserWarning, match=message):
        env.step(0)
    for _ in range(999):
        env.step(0)


@pytest.mark.parametrize("options", [{}, {"mode": "clip", "limit": 0.1}, {"mode": "sign"}])
def test_what_the_user_did_not_choose_or_chose_to_be_fixed_is_not(options: dict[str, Any]) -> None:
    env = TruncateReward(AddRewardNoise(gymnasium.make("CartPole-v1"), HEAVY), **options)
    rollout(env, 1500, seed=0)
    assert env.truncated_fraction > 0.3


# Saving


def test_a_counter_of_ones_own_is_given_again(tmp_path: Path) -> None:
    env = TruncateReward(Paying(1.0), **GROWING, counter=str)
    rollout(env, 10, seed=0)
    env.save(tmp_path / "counts.npz")
    with pytest.raises(ht.InputError, match=r"cannot be used: it was saved with your own counter; make"):
        ht.load(tmp_path / "counts.npz", Paying(1.0))
    again = TruncateReward(Paying(1.0), **GROWING, counter=str)
    again.load(tmp_path / "counts.npz")
    np.testing.assert_equal(again.state_dict(), env.state_dict())


def test_an_episode_that_is_under_way_goes_on_with_the_loaded_hash() -> None:
    one, other = (TruncateReward(gymnasium.make("CartPole-v1"), **GROWING, hash_seed=seed) for seed in (0, 1))
    rollout(one, 100, seed=0)
    observation, _ = other.reset(seed=7)
    other.load_state_dict(one.state_dict())
    assert one.counter is not None
    n = one.counter.count(one.counter.code(observation), 0)
    assert other.step(0)[4]["reward_threshold"] == pytest.approx((0.5 * (n + 1)) ** (1 / 1.05))


def test_the_file_holds_arrays_and_no_pickle(tmp_path: Path) -> None:
    env = TruncateReward(Paying(1.0), **GROWING, counter=str)
    rollout(env, 50, seed=0)
    env.save(tmp_path / "counts")  # under the name that was asked for
    with np.load(tmp_path / "counts", allow_pickle=False) as arrays:
        assert set(arrays) == {"heavytail.json", "steps", "observations", "actions", "counts"}
        assert arrays["counts"].sum() == arrays["steps"][0] == 50


def test_a_file_that_is_wrong_is_told_in_one_line_and_changes_nothing(tmp_path: Path) -> None:
    env = TruncateReward(Paying(1.0), **GROWING)
    rollout(env, 5, seed=0)
    before = env.state_dict()
    auto = TruncateReward(Paying(1.0), 0.05, "auto")
    sign = TruncateReward(Paying(1.0), mode="sign")
    files = {name: tmp_path / name for name in ("text", "cut", "pickle", "empty", "counts", "none", "odd")}
    files["text"].write_text("counts")
    env.save(files["counts"])
    sign.save(files["none"])
    files["cut"].write_bytes(files["counts"].read_bytes()[:-100])
    odd: dict[str, Any] = {**auto.state_dict(), "coefficient": np.array(-1.0)}
    contents: dict[str, dict[str, Any]] = {
        "pickle": {"steps": np.array([{}], object)},
        "empty": {},
        "odd": odd,
    }
    for name, arrays in contents.items():
        with files[name].open("wb") as out:
            np.savez(out, **{METADATA: np.frombuffer(b'{"format": %d}' % FORMAT, np.uint8), **arrays})
    for wrapper, file, message in [
        (env, tmp_path / "nowhere", r"nowhere cannot be read: No such file or directory"),
        (env, files["text"], r"text is not a valid wrapper file: File is not a zip file"),
        (env, files["cut"], r"cut is not a valid wrapper file: .*"),
        (
            env,
            files["pickle"],
            (
                r"pickle is not a valid wrapper file: Object arrays cannot be loaded when"
                r" allow_pickle=False"
            ),
        ),
        (
            env,
            files["empty"],
            r"empty does not fit: steps is missing",
        ),
        (env, files["none"], r"none does not fit: counts is missing"),
        (
            sign,
            files["counts"],
            r"counts does not fit: it has counts, which a fixed threshold does not use",
        ),
        (
            auto,
            files["counts"],
            r"counts does not fit: coefficient is missing; it was saved without \"auto\"",
        ),
        (auto, files["odd"], r"odd does not fit: coefficient is -1.0; it must be finite and above 0"),
    ]:
        with pytest.raises(ht.InputError, match=rf"^\S*{message}$"):
            wrapper.load(file)
    np.testing.assert_equal(env.state_dict(), before)
    with pytest.raises(ht.InputError, match=r"^\S*counts cannot be written: No such file or directory$"):
        env.save(tmp_path / "nowhere" / "counts")


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {**GROWING, "limit": 1.0, "mode": "clip"},
            (
                "mode 'clip' takes epsilon and coefficient, for a threshold that grows, or limit, for a"
                " fixed one; got epsilon and coefficient and limit"
            ),
        ),
        ({**GROWING, "mode": "sign"}, "mode is 'sign', which takes no epsilon, coefficient"),
        ({"mode": "none", "limit": 1.0}, "mode is 'none', which takes no limit"),
        ({**GROWING, "mode": "clib"}, "mode is 'clib'; did you mean 'clip'?"),
        ({"epsilon": 2, "coefficient": 1}, "epsilon must be at most 1, got 2.0"),
        ({"epsilon": 2, "coefficient": "auto"}, "epsilon must be at most 1, got 2.0"),
        ({"epsilon": 0.5, "coefficient": 0}, "coefficient must be above 0, got 0.0"),
        (
            {"epsilon": 0.5, "coefficient": "automatic"},
            "coefficient is 'automatic'; it must be a number above 0, or 'auto'",
        ),
        ({"epsilon": 0.5, "coefficient": "auto", "warm_up": 0}, "warm_up must be at least 1, got 0"),
        ({"epsilon": 0.5, "coefficient": "auto", "quantile": 50}, "quantile must be below 1, got 50.0"),
        ({**GROWING, "counter": "hash"}, "counter is 'hash'; did you mean 'simhash'?"),
        ({**GROWING, "counter": "simhash", "bits": -1}, "bits must be at least 1, got -1"),
        ({**GROWING, "counter": "simhash", "bits": 10**9}, "bits must be at most 65536, got 1000000000"),
    ],
)
def test_mistakes_are_said_in_one_line(options: dict[str, Any], message: str) -> None:
    for env in (Paying(), gymnasium.vector.SyncVectorEnv([Paying])):
        with pytest.raises(ht.InputError) as caught:
            TruncateReward(env, **options)
        assert str(caught.value) == message


def test_it_needs_neither_jax_nor_stable_baselines3_nor_torch(tmp_path: Path) -> None:
    script = """
    import sys, gymnasium, heavytail as ht
    env = ht.gym.TruncateReward(gymnasium.make("CartPole-v1"), 0.05, 0.015)
    env.reset(), env.step(0)
    print([m for m in ("jax", "torch", "stable_baselines3", "numba", "scipy") if m in sys.modules])
    """
    assert python(script, folder=tmp_path) == "[]"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": np.array([2**63 - 1, 0])}, r"steps is \[9223372036854775807, 0\]; it must be how many"),
        ({"steps": np.array([-5, -6])}, r"steps is \[-5, -6\]"),
        ({"steps": np.array([3, 4])}, r"steps is \[3, 4\]"),
        ({"counts": np.array([2**63 - 1])}, "counts must be at least 1 and at most 9007199254740992 each"),
        ({"counts": np.array([-5])}, "counts must be at least 1"),
        ({"warm_up": np.array([np.nan])}, "warm_up has a size that is not finite and above 0"),
        ({"warm_up": np.array([-1.0])}, "warm_up has a size that is not finite and above 0"),
        ({"observation_hash/matrix": np.full((4, 4), np.inf)}, "observation_hash has a number that is not"),
        ({"observation_hash/low": np.full(4, 2.0)}, "observation_hash has a number .* a low end above the"),
    ],
)
def test_state_that_is_none_is_one_line_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    env = TruncateReward(gymnasium.make("CartPole-v1"), epsilon=0.5, coefficient="auto", bits=4)
    env.reset(seed=0)
    env.step(0)
    before = env.state_dict()
    with pytest.raises(ht.InputError, match=message):
        env.load_state_dict({**before, **change})
    after = env.state_dict()
    assert {name: array.tolist() for name, array in after.items()} == {
        name: array.tolist() for name, array in before.items()
    }
