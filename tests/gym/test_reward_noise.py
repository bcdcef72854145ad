import copy
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from scipy import stats

import heavytail as ht
from heavytail.gym import reward_noise
from heavytail.gym.env import MDPEnv
from heavytail.gym.ids import register_ids
from heavytail.gym.reward_noise import AddRewardNoise
from heavytail.laws.alpha_stable import AlphaStable
from support.mdps import all_laws, mixed

register_ids()
IDS = sorted(i for i in gymnasium.registry if i.startswith("heavytail/"))

Env = gymnasium.Env[Any, Any]
HEAVY = ht.laws.alpha_stable(alpha=1.1, scale=5.0)


class Still(gymnasium.Env[Any, Any]):
    """Nothing happens and nothing is paid; the episode never ends."""

    def __init__(self, reward: Any = 0.0) -> None:
        self.observation_space = self.action_space = gymnasium.spaces.Discrete(2)
        self.reward = reward

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return action, self.reward, False, False, {}


def noises(env: Env, n: int, seed: int | None = 0) -> list[float]:
    """What is added to the first rewards."""
    env.reset(seed=seed)
    return [env.step(0)[4]["reward_noise"] for _ in range(n)]


def transitions(env: Env, n: int, seed: int) -> list[Any]:
    """All that happens but the rewards, under the same actions."""
    env.action_space.seed(seed)
    seen: list[Any] = [env.reset(seed=seed)]
    for _ in range(n):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        seen.append((observation, float(info.get("raw_reward", reward)), terminated, truncated))
        if terminated or truncated:
            seen.append(env.reset())
    return seen


# What is added


@pytest.mark.parametrize(
    "law",
    [HEAVY, ht.laws.student_t(df=1.5), ht.laws.pareto(alpha=0.9, symmetric=True)],
    ids=lambda law: law.name,
)
def test_the_noise_has_its_law(law: Any) -> None:
    """Kolmogorov and Smirnov, at a fixed seed; a right sampler fails at one seed in a thousand."""
    scipys: dict[str, Callable[..., Any]] = {
        "alpha_stable": lambda x: stats.levy_stable.cdf(x, 1.1, 0.0, scale=5.0),
        "student_t": stats.t(1.5).cdf,
        "pareto": lambda x: np.where(
            np.abs(x) < 1, 0.5, np.where(x > 0, 1 - 0.5 * np.abs(x) ** -0.9, 0.5 * np.abs(x) ** -0.9)
        ),
    }
    drawn = noises(AddRewardNoise(Still(), law), 3000)
    assert stats.kstest(drawn, scipys[law.name]).pvalue > 1e-3


@pytest.mark.parametrize("batch", [1, 7, 256])
def test_the_draws_depend_on_the_seed_and_not_on_how_many_are_made_at_once(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = HEAVY.sample(
        600, seed=np.random.SeedSequence(4, spawn_key=(reward_noise.NOISE_KEY, 0))
    ).tolist()
    monkeypatch.setattr(reward_noise, "BATCH_SIZE", batch)
    assert noises(AddRewardNoise(Still(), HEAVY), 600, seed=4) == expected


@pytest.mark.parametrize("law", all_laws(), ids=str)
def test_every_law_serves(law: ht.laws.Law) -> None:
    drawn = noises(AddRewardNoise(Still(), law), 300)
    assert all(map(math.isfinite, drawn))
    assert len(set(drawn)) == 1 if law.name == "constant" else len(set(drawn)) > 1


def test_info_tells_the_parts_of_the_reward() -> None:
    env = AddRewardNoise(MDPEnv(mdp=mixed()), ht.laws.normal(loc=3.0))
    bare = MDPEnv(mdp=mixed())
    assert env.reset(seed=0) == bare.reset(seed=0)
    for _ in range(2):
        state, reward, *ends, info = env.step(1)
        own_state, own_reward, *own_ends, own_info = bare.step(1)
        assert (state, ends) == (own_state, own_ends)
        assert info["raw_reward"] == own_reward
        assert reward == own_reward + info["reward_noise"]
        assert info["mean_reward"] == own_info["mean_reward"] + 3.0
        assert all(type(x) is float for x in (reward, *info.values()))


@pytest.mark.parametrize(
    ("law", "mean"),
    [(ht.laws.normal(loc=3.0), 5.0), (ht.laws.student_t(df=1.0, loc=7.0), 2.0), (ht.laws.pareto(0.5), 2.0)],
    ids=str,
)
def test_the_reward_stands_for_a_mean_that_the_environment_does_not_know_and_a_law_without_one_adds_none(
    law: ht.laws.Law, mean: float
) -> None:
    env = AddRewardNoise(Still(reward=np.float32(2)), law)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(0)
    assert (info["mean_reward"], info["raw_reward"], type(reward)) == (mean, 2.0, float)


# What is not changed


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "MountainCar-v0", "heavytail/SixArms-v0"])
def test_transitions_are_what_they_are_without_noise(env_id: str) -> None:
    bare = transitions(gymnasium.make(env_id), 500, seed=1)
    noisy = transitions(AddRewardNoise(gymnasium.make(env_id), HEAVY), 500, seed=1)
    assert len(bare) == len(noisy)
    for one, other in zip(bare, noisy, strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.filterwarnings(
    "ignore:.*is different from the unwrapped version:UserWarning"
)  # said of every wrapper
@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_finds_nothing_to_complain_about(env_id: str) -> None:
    check_env(AddRewardNoise(gymnasium.make(env_id).unwrapped, HEAVY))


# Seeds


def test_the_same_seed_gives_the_same_noise_and_another_seed_another() -> None:
    env = AddRewardNoise(Still(), HEAVY)
    first = noises(env, 300, seed=1)
    assert noises(env, 300, seed=1) == first
    assert not set(noises(env, 300, seed=2)) & set(first)


def test_a_reset_without_a_seed_lets_the_noise_run_on() -> None:
    env = AddRewardNoise(Still(), HEAVY)
    whole = noises(env, 600, seed=1)
    assert noises(env, 100, seed=1) + noises(env, 200, seed=None) + noises(env, 300, seed=None) == whole


def test_without_any_seed_the_noise_is_fresh_and_its_seed_is_told() -> None:
    env, other = AddRewardNoise(Still(), HEAVY), AddRewardNoise(Still(), HEAVY)
    assert env.noise_seed is None
    first = noises(env, 10, seed=None)
    assert noises(other, 10, seed=None) != first
    assert env.noise_seed == env.np_random_seed
    assert noises(other, 10, seed=env.noise_seed) == first


def test_the_noise_of_an_environment_whose_generator_was_set_by_hand_is_fresh() -> None:
    envs = [AddRewardNoise(Still(), HEAVY) for _ in range(2)]
    for env in envs:
        env.np_random = np.random.default_rng(0)
    first, second = (noises(env, 10, seed=None) for env in envs)
    assert first != second
    assert noises(envs[1], 10, seed=envs[0].noise_seed) == first


def test_the_noise_is_independent_of_the_rewards_and_of_noise_beneath() -> None:
    """Rank correlations of 2000 pairs, at a fixed seed.

    A right stream fails at one seed in a thousand for each of the three.
    """
    arms = ht.mdp_from_arrays([[[1.0]]], laws=[[ht.laws.normal()]])
    inner = AddRewardNoise(MDPEnv(mdp=arms), ht.laws.normal())
    outer = AddRewardNoise(inner, ht.laws.normal())
    outer.reset(seed=0)
    steps = [outer.step(0) for _ in range(2000)]
    outer_noise = np.array([info["reward_noise"] for *_, info in steps])
    inner_noise = np.array(noises(inner, 2000))
    rewards = np.array([info["raw_reward"] for *_, info in steps]) - inner_noise
    for one, other in ((outer_noise, inner_noise), (outer_noise, rewards), (inner_noise, rewards)):
        assert stats.spearmanr(one, other).pvalue > 1e-3


def test_a_copy_goes_on_as_the_original_would() -> None:
    env = AddRewardNoise(Still(), HEAVY)
    noises(env, 10)
    twin = copy.deepcopy(env)
    assert [twin.step(0) for _ in range(300)] == [env.step(0) for _ in range(300)]


# Vectors


SPAWNED: dict[str, dict[str, str]] = {
    "sync": {},
    "async": {"context": "spawn"},
}  # a process with threads of other libraries is not to be forked


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_resetting_in_a_vector_draws_no_noise(mode: str) -> None:
    """Each sub-environment's rewards across several resets are those of the single environment.

    The step that resets pays 0.
    """
    vector = gymnasium.make_vec(
        "heavytail/SixArms-v0",
        num_envs=3,
        vectorization_mode=mode,
        vector_kwargs=SPAWNED[mode],
        horizon=4,
        wrappers=[lambda env: AddRewardNoise(env, HEAVY)],
    )
    vector.reset(seed=20)
    actions = np.random.default_rng(0).integers(6, size=(50, 3))
    steps = [vector.step(a) for a in actions]
    vector.close()
    for i in range(3):
        env = AddRewardNoise(gymnasium.make("heavytail/SixArms-v0", horizon=4), HEAVY)
        env.reset(seed=20 + i)
        h = 0
        for a, (_, rewards, _, truncations, infos) in zip(actions[:, i], steps, strict=True):
            if h == 4:
                env.reset()
                h = 0
                assert rewards[i] == 0.0
                continue
            h += 1
            _, reward, _, truncated, info = env.step(a)
            assert (rewards[i], truncations[i]) == (reward, truncated)
            assert all(infos[key][i] == info[key] for key in ("mean_reward", "raw_reward", "reward_noise"))


# Making it again


@pytest.mark.parametrize("law", all_laws(), ids=str)
def test_a_spec_makes_the_same_environment_again(law: ht.laws.Law) -> None:
    env = AddRewardNoise(gymnasium.make("FrozenLake-v1"), law)
    assert env.spec is not None
    for spec in (env.spec, EnvSpec.from_json(env.spec.to_json())):
        again = gymnasium.make(spec)
        assert isinstance(again, AddRewardNoise)
        assert again.law == law
        assert noises(again, 4) == noises(env, 4)


def test_a_law_by_name_is_the_law() -> None:
    named = AddRewardNoise(
        gymnasium.make("heavytail/SixArms-v0"), "alpha_stable", alpha=np.float32(1.5), scale=5
    )
    assert named.law == ht.laws.alpha_stable(alpha=1.5, scale=5.0)
    assert named.spec is not None
    wrapper = json.loads(named.spec.to_json())["additional_wrappers"][-1]
    assert wrapper["kwargs"] == {"law": "alpha_stable", "alpha": 1.5, "beta": 0.0, "loc": 0.0, "scale": 5.0}


@dataclass(frozen=True)
class Renamed(AlphaStable):
    """A law whose registered builder does not build it from its fields."""

    name: ClassVar[str] = "alpha_stable"
    own: float = 0.0


@pytest.mark.parametrize("law", [Renamed(1.1, 0.0, 0.0, 1.0)], ids=str)
def test_a_law_that_its_name_does_not_make_is_recorded_as_it_is(law: ht.laws.Law) -> None:
    env = AddRewardNoise(gymnasium.make("FrozenLake-v1"), law)
    assert env.spec is not None
    again = gymnasium.make(env.spec)
    assert isinstance(again, AddRewardNoise)
    assert again.law == law


# Mistakes


@pytest.mark.parametrize(
    ("law", "parameters", "message"),
    [
        ("alpha_stabel", {}, "there is no law 'alpha_stabel'; did you mean 'alpha_stable'?"),
        ("alpha_stable", {"alpha": math.nan}, "alpha_stable: alpha must be finite, got nan"),
        ("alpha_stable", {"alpha": 3}, "alpha_stable: alpha must be at most 2, got 3.0"),
        (
            "alpha_stable",
            {"alpha": 1.1, "scal": 1},
            "alpha_stable has no parameter 'scal'; did you mean 'scale'?",
        ),
        (
            "alpha_stable",
            {},
            (
                "alpha_stable needs alpha= (the stability, which is also the tail index below 2; with 1 or"
                " less there is no mean); `heavytail list alpha_stable` explains its parameters"
            ),
        ),
        (
            HEAVY,
            {"scale": 3.0},
            (
                "AddRewardNoise: law is not a name, so it takes no scale; give either a law or its name"
                " and parameters"
            ),
        ),
        (
            1.1,
            {},
            (
                "AddRewardNoise: law is 1.1; it must be a law, such as"
                " heavytail.laws.alpha_stable(alpha=1.1), or the name of one"
            ),
        ),
        (
            AlphaStable(1.1, 0.0, 0.0, math.nan),
            {},
            (
                "AddRewardNoise: law is AlphaStable(alpha=1.1, beta=0.0, loc=0.0, scale=nan); its"
                " parameters must be numbers"
            ),
        ),
    ],
)
def test_mistakes_are_said_in_one_line(law: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.InputError) as caught:
        AddRewardNoise(Still(), law, **parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize("env", ["CartPole-v1", gymnasium.make_vec("CartPole-v1", num_envs=2)])
def test_what_is_no_single_environment_is_refused_with_the_way_for_vectors(env: Any) -> None:
    with pytest.raises(
        ht.InputError, match=r"it must be a Gymnasium environment; for a vector give gymnasium\.make_vec"
    ):
        AddRewardNoise(env, ht.laws.normal())


def test_a_reward_that_is_no_number_is_an_error() -> None:
    env = AddRewardNoise(Still(reward=math.nan), ht.laws.constant(1.0))
    env.reset(seed=0)
    with pytest.raises(
        ht.InputError,
        match=(
            r"^the reward is nan: the environment gave nan and Constant\(loc=1.0\) added 1.0; a reward"
            r" must be a number$"
        ),
    ):
        env.step(0)


def test_an_infinite_reward_stays_infinite() -> None:
    env = AddRewardNoise(Still(reward=math.inf), HEAVY)
    env.reset(seed=0)
    assert env.step(0)[1] == math.inf


def test_a_step_before_a_reset_needs_a_reset() -> None:
    env = AddRewardNoise(Still(), HEAVY)
    with pytest.raises(ResetNeeded, match="no episode has begun"):
        env.step(0)
