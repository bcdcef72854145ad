import copy
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import heavytail as ht
from heavytail.gym.env import MDPEnv
from heavytail.gym.ids import CHANGING, ENVS_FOLDER, gymnasium_id, register_ids
from heavytail.kernels.rng import streams
from heavytail.mdp import MDP
from heavytail.training.step_loop import MDPStepper
from support.mdps import MDPS, mixed, staged
from support.processes import python

register_ids()
IDS = sorted(i for i in gymnasium.registry if i.startswith("heavytail/"))

Transition = tuple[int, float, bool, bool, float]


def play(env: gymnasium.Env[Any, Any], actions: list[int]) -> list[Transition | int]:
    """All that an environment returns for these actions, from where it stands.

    After each end it is reset, which gives a number.
    """
    seen: list[Transition | int] = []
    for a in actions:
        state, reward, terminated, truncated, info = env.step(a)
        seen.append((state, float(reward), terminated, truncated, info["mean_reward"]))
        if terminated or truncated:
            seen.append(env.reset()[0])
    return seen


def inside(env: gymnasium.Env[Any, Any]) -> MDPEnv:
    """The environment behind its wrappers."""
    assert isinstance(env.unwrapped, MDPEnv)
    return env.unwrapped


def some_actions(mdp: MDP, n: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(mdp.n_actions, size=n).tolist()


# Ids


def test_every_environment_has_an_id() -> None:
    assert "heavytail/SixArms-v0" in IDS
    stay = {r.name for r in ht.registered("env") if not r.name.startswith(CHANGING)}
    assert sorted(gymnasium_id(name) for name in stay if (ENVS_FOLDER / f"{name}.py").exists()) == IDS


def test_registering_again_changes_nothing_and_does_not_warn() -> None:
    before = dict(gymnasium.registry)
    register_ids()
    assert all(gymnasium.registry[i] is spec for i, spec in before.items())


def test_ids_are_registered_without_importing_more_than_gymnasium(tmp_path: Path) -> None:
    script = """
    import sys
    from heavytail.gym.ids import register_ids
    register_ids()
    modules = ("numba", "scipy", "heavytail.envs", "heavytail.mdp.mdp", "heavytail.gym.env")
    print([m for m in modules if m in sys.modules])
    import gymnasium
    print(gymnasium.make("heavytail/SixArms-v0", horizon=3).unwrapped.mdp.horizon)
    """
    assert python(script, folder=tmp_path) == "[]\n3"


def test_names_are_imported_when_first_used(tmp_path: Path) -> None:
    script = """
    import sys, heavytail.gym
    print([m for m in ("numba", "heavytail.envs", "heavytail.gym.env") if m in sys.modules])
    print(dir(heavytail.gym) == sorted(heavytail.gym.__all__))
    print(heavytail.gym.MDPEnv.__name__, heavytail.gym.AddRewardNoise.__name__)
    """
    assert python(script, folder=tmp_path) == "[]\nTrue\nMDPEnv AddRewardNoise"
    with pytest.raises(AttributeError, match=r"heavytail\.gym has no 'nothing'"):
        ht.gym.nothing  # noqa: B018 - the look-up is the test


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_finds_nothing_to_complain_about(env_id: str) -> None:
    env = gymnasium.make(env_id)
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("env_id", IDS)
def test_an_id_makes_what_make_mdp_makes(env_id: str) -> None:
    env, spec = gymnasium.make(env_id), gymnasium.spec(env_id)
    mdp = ht.make_mdp(spec.kwargs["name"])
    assert spec.max_episode_steps is None
    np.testing.assert_equal(tuple(inside(env).mdp), tuple(mdp))
    assert env.observation_space == gymnasium.spaces.Discrete(mdp.n_states)
    assert env.action_space == gymnasium.spaces.Discrete(mdp.n_actions)


def test_parameters_reach_the_environment_and_its_spec() -> None:
    env = gymnasium.make("heavytail/SixArms-v0", horizon=3)
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert inside(env).mdp.horizon == inside(again).mdp.horizon == 3
    saved = inside(env)._saved_kwargs
    assert saved == {"name": "six_arms", "render_mode": None, "mdp": None, "horizon": 3}
    assert MDPEnv(**saved).mdp.horizon == 3


# Transitions


@pytest.mark.parametrize("name", MDPS)
def test_it_is_the_stepwise_world_bit_for_bit(name: str) -> None:
    mdp = MDPS[name]()
    env, stepper = MDPEnv(mdp=mdp), MDPStepper(mdp, streams(7))
    assert env.mdp is mdp
    actions = some_actions(mdp, 300)
    first = env.reset(seed=7)[0]
    seen = play(env, actions)
    s, h = stepper.reset(), 0
    assert s == first
    expected: list[Transition | int] = []
    for a in actions:
        s, r, ended, mean = stepper.step(s, a, h)
        truncated = not ended and h + 1 == mdp.horizon
        expected.append((s, r, ended, truncated, mean))
        h += 1 if mdp.horizon else 0
        if ended or truncated:
            s, h = stepper.reset(), 0
            expected.append(s)
    assert seen == expected


def test_what_it_returns_are_plain_python_types() -> None:
    env = MDPEnv("six_arms")
    state, info = env.reset(seed=0)
    assert (type(state), info) == (int, {})
    state, reward, terminated, truncated, info = env.step(5)
    assert [type(x) for x in (state, reward, terminated, truncated)] == [int, float, bool, bool]
    assert [(key, type(value)) for key, value in info.items()] == [("mean_reward", float)]


def test_the_horizon_truncates_and_a_terminal_state_terminates() -> None:
    mdp = mixed(horizon=4)
    env = MDPEnv(mdp=mdp)
    env.reset(seed=1)
    lengths: dict[str, set[int]] = {"terminated": set(), "truncated": set()}
    h = 0
    for a in some_actions(mdp, 2000):
        state, _, terminated, truncated, _ = env.step(a)
        h += 1
        assert terminated == (state == 2), "state 2 is the terminal one"
        assert truncated == (h == 4 and not terminated)
        if terminated or truncated:
            lengths["terminated" if terminated else "truncated"].add(h)
            env.reset()
            h = 0
    assert lengths == {"terminated": {1, 2, 3, 4}, "truncated": {4}}


def test_the_mean_reward_is_that_of_the_step() -> None:
    mdp = staged()
    env = MDPEnv(mdp=mdp)
    for episode in range(20):
        s, _ = env.reset(seed=episode)
        for h, a in enumerate(some_actions(mdp, mdp.horizon, episode)):
            s_next, _, _, truncated, info = env.step(a)
            assert info["mean_reward"] == mdp.mean_rewards[h, s, a]
            assert truncated == (h + 1 == mdp.horizon)
            s = s_next


# Seeds


@pytest.mark.parametrize("by_hand", [False, True])
def test_the_same_seed_or_generator_gives_the_same_run_and_another_another(by_hand: bool) -> None:
    runs = []
    env = MDPEnv(mdp=mixed())
    for seed in (3, 3, 4):
        if by_hand:
            env.np_random = np.random.default_rng(seed)
        first, _ = env.reset(seed=None if by_hand else seed)
        runs.append((first, play(env, some_actions(mixed(), 50))))
    assert runs[0] == runs[1] != runs[2]


def test_a_reset_without_a_seed_lets_the_streams_run_on() -> None:
    env = MDPEnv(mdp=mixed())
    env.reset(seed=3)
    first = play(env, actions := some_actions(mixed(), 50))
    assert env.np_random_seed == 3
    env.reset()
    assert play(env, actions) != first
    env.reset(seed=3)
    assert play(env, actions) == first


def test_without_any_seed_the_seed_is_told_and_repeats_the_run() -> None:
    env, other = MDPEnv(mdp=mixed()), MDPEnv(mdp=mixed())
    actions = some_actions(mixed(), 50)
    run = env.reset()[0], play(env, actions)
    assert (other.reset()[0], play(other, actions)) != run
    assert (other.reset(seed=env.np_random_seed)[0], play(other, actions)) == run


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],  # noqa: S301 - our own
    ids=["deepcopy", "pickle"],
)
def test_a_copy_goes_on_as_the_original_would(copied: Any) -> None:
    env = MDPEnv(mdp=mixed())
    env.reset(seed=5)
    twin = copied(env)
    actions = some_actions(mixed(), 50)
    assert play(twin, actions) == play(env, actions)
    assert twin.reset() == env.reset(), "and at a reset its streams are not started anew"
    assert play(twin, actions) == play(env, actions)


def test_an_environment_can_be_sent_before_its_first_reset_and_takes_no_compiled_code_along() -> None:
    env = MDPEnv(mdp=mixed())
    twin = pickle.loads(pickle.dumps(env))  # noqa: S301 - our own
    assert twin.reset(seed=5) == env.reset(seed=5)
    assert b"numba" not in pickle.dumps(env)


# Vectors


SPAWNED: dict[str, dict[str, str]] = {
    "sync": {},
    "async": {"context": "spawn"},
}  # a process with threads of other libraries is not to be forked


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_of_environments_are_the_single_ones_side_by_side(mode: str) -> None:
    vector = gymnasium.make_vec(
        "heavytail/SixArms-v0", num_envs=2, vectorization_mode=mode, vector_kwargs=SPAWNED[mode], horizon=3
    )
    vector.reset(seed=10)
    rng = np.random.default_rng(0)
    actions = rng.integers(6, size=(40, 2))
    seen = [vector.step(a)[:4] for a in actions]
    vector.close()
    for i in range(2):
        env = gymnasium.make("heavytail/SixArms-v0", horizon=3)
        env.reset(seed=10 + i)
        ended = False
        for a, result in zip(actions[:, i], seen, strict=True):
            expected: tuple[Any, ...] = (env.reset()[0], 0.0, False, False) if ended else env.step(a)[:4]
            assert tuple(array[i] for array in result) == expected
            ended = expected[2] or expected[3]


# Pictures


def test_a_picture_shows_the_present_state() -> None:
    blind = MDPEnv("six_arms")
    blind.reset(seed=0)
    assert blind.render() is None
    env = gymnasium.make("heavytail/SixArms-v0", render_mode="rgb_array")
    env.reset(seed=0)
    pictures: list[Any] = [env.render()]
    while inside(env)._state == 0:
        env.step(0)
    pictures.append(env.render())
    for picture, lit in zip(pictures, [(0, 0), (0, 1)], strict=True):
        assert (picture.shape, picture.dtype) == ((255, 255, 3), np.uint8), (
            "7 states: 3 by 3 squares of 85 pixels"
        )
        centres = picture[42::85, 42::85, 0]
        assert [tuple(map(int, at)) for at in np.argwhere(centres == 255)] == [lit]
        assert (centres == 0).sum() == 2


def test_a_picture_of_many_states_is_not_larger_than_it_must_be() -> None:
    n = 300**2
    mdp = ht.mdp_from_slots(range(n), np.roll(range(n), -1), np.ones(n), np.zeros(n), n_states=n, n_actions=1)
    env = MDPEnv(mdp=mdp, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture is not None
    assert picture.shape == (300, 300, 3)


# Mistakes


@pytest.mark.parametrize("action", [-1, 6, 1.0, "0", None, np.array([[0, 1], [2, 3]])])
def test_a_wrong_action_is_named_and_changes_nothing(action: Any) -> None:
    env, untouched = MDPEnv("six_arms"), MDPEnv("six_arms")
    env.reset(seed=0)
    untouched.reset(seed=0)
    with pytest.raises(
        ht.InputError, match=r"^step: there is no action .*; actions go from 0 to 5$"
    ) as caught:
        env.step(action)
    assert "\n" not in str(caught.value)
    assert play(env, [5, 5, 0]) == play(untouched, [5, 5, 0])


@pytest.mark.parametrize("action", [np.int32(5), np.array(5), True])
def test_whole_numbers_of_any_kind_are_actions(action: Any) -> None:
    env, plain = MDPEnv("six_arms"), MDPEnv("six_arms")
    env.reset(seed=0)
    plain.reset(seed=0)
    assert env.step(action) == plain.step(int(action))


def test_a_step_before_a_reset_or_after_the_end_needs_a_reset() -> None:
    env = MDPEnv(mdp=staged())
    with pytest.raises(ResetNeeded, match="no episode has begun"):
        env.step(0)
    env.reset(seed=0)
    for _ in range(3):
        env.step(0)
    with pytest.raises(ResetNeeded, match="the episode has ended"):
        env.step(0)
    env.reset()
    env.step(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "six_armz"}, "there is no environment 'six_armz'; did you mean 'six_arms'?"),
        ({"name": "six_arms", "horizn": 3}, "six_arms has no parameter 'horizn'; did you mean 'horizon'?"),
        ({"render_mode": "human"}, "six_arms: render_mode is 'human'; it must be None or 'rgb_array'"),
        ({"mdp": 3}, "MDPEnv: mdp is a int; it must be an MDP, such as make_mdp('six_arms')"),
        (
            {"mdp": mixed(), "horizon": 3},
            "MDPEnv: mdp is given, so there is nothing to build with horizon; give either",
        ),
        (
            {"mdp": mixed()._replace(n_states=2)},
            "the arrays of this MDP do not fit together: rows and slots do not match",
        ),
    ],
)
def test_mistakes_are_said_in_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.InputError) as caught:
        MDPEnv(**arguments)
    assert str(caught.value) == message


def test_episodes_are_as_long_as_the_horizon_everywhere() -> None:
    """For all ids, the step that truncates is the MDP's horizon, whatever wrappers `make` adds."""
    for env_id in IDS:
        env = gymnasium.make(env_id)
        mdp = inside(env).mdp
        env.reset(seed=0)
        ends = [k for k, a in enumerate(some_actions(mdp, 200), 1) if _ends(env, a)]
        lengths = {b - a for a, b in pairwise([0, *ends])}
        assert lengths <= set(range(1, mdp.horizon + 1)) if mdp.ends.any() else lengths <= {mdp.horizon}
        assert bool(ends) == bool(mdp.horizon)


def _ends(env: gymnasium.Env[Any, Any], action: int) -> bool:
    _, _, terminated, truncated, _ = env.step(action)
    if terminated or truncated:
        env.reset()
    return terminated or truncated
