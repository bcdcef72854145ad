"""The two halves of the tasks nobody tuned on: what their descriptions promise, without running an agent."""

import doctest
import importlib
import tomllib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail import planning
from heavytail.mdp import MDP
from heavytail.studies.plugins import import_plugins
from heavytail.studies.published import published

HALVES = ("unseen", "unseen-reported")
PLUGINS = ("unseen_build", "untold", "unseen_choosing", "unseen_reported")
RAW = {name: tomllib.loads(published(name).read_text()) for name in HALVES}
TASKS: dict[str, dict[str, Any]] = {**RAW["unseen"]["envs"], **RAW["unseen-reported"]["envs"]}
# Numbers that are never met, except as the end of an episode
UNMET = {"windy": 8, "rooms": 33, "toy_text": 5, "inventory": 7, "roads": 16}
UNMET_OF_CLIFF = 11


@pytest.fixture(scope="module", autouse=True)
def plugins() -> None:
    """Import the plugins, and not while tests are collected: other tests are made from what is registered."""
    import_plugins(PLUGINS)


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(task: str) -> MDP:
    return ht.make_mdp(TASKS[task]["env"], **TASKS[task].get("parameters", {}))


@pytest.mark.parametrize("plugin", PLUGINS)
def test_examples(plugin: str) -> None:
    assert doctest.testmod(importlib.import_module(plugin)).failed == 0


def test_families_are_in_one_half_only() -> None:
    families = [{env["env"] for env in RAW[name]["envs"].values()} for name in HALVES]
    assert families[0].isdisjoint(families[1])
    assert min(len(family) for family in families) >= 10
    assert min(len(RAW[name]["envs"]) for name in HALVES) >= 20


def test_both_halves_have_the_same_agents_on_different_seeds() -> None:
    first, second = (
        {key: {k: v for k, v in agent.items() if k != "envs"} for key, agent in RAW[name]["agents"].items()}
        for name in HALVES
    )
    assert first == second
    assert RAW["unseen"]["seed"] != RAW["unseen-reported"]["seed"]
    for name in HALVES:
        episodic = {key for key, env in RAW[name]["envs"].items() if "episodes" in env}
        limited = [agent["envs"] for agent in RAW[name]["agents"].values() if "envs" in agent]
        assert len(limited) == 7
        assert all(set(envs) == episodic for envs in limited)


def test_every_law_and_both_kinds_of_length_are_in_both_halves() -> None:
    for name in HALVES:
        envs = RAW[name]["envs"].values()
        shapes = {env.get("parameters", {}).get("shape", "none") for env in envs}
        assert {"normal", "student", "pareto_up", "pareto_down", "multiplied", "none"} <= shapes
        assert {"stable_up", "stable_down"} & shapes
        assert any(env.get("parameters", {}).get("shift") for env in envs)
        assert {"steps", "episodes"} <= {key for env in envs for key in env}


def value(mdp: MDP, policy: Any) -> float:
    return (planning.policy_value if mdp.horizon else planning.policy_gain)(mdp, policy)


def best(mdp: MDP) -> float:
    return (planning.optimal_value if mdp.horizon else planning.gain)(mdp)


def test_the_best_policy_is_clearly_better_than_chance(task: str) -> None:
    mdp = make(task)
    chance = value(mdp, np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions))
    optimum, worst = best(mdp), -best(mdp._replace(row_means=-mdp.row_means))
    assert optimum - chance >= 0.1 * (optimum - worst) > 0


def test_the_best_policy_looks_at_the_state_but_where_it_need_not(task: str) -> None:
    mdp = make(task)
    constant = [value(mdp, np.full(mdp.n_states, a)) for a in range(mdp.n_actions)]
    blind = TASKS[task]["env"] in {"arms", "rare"}
    blind |= task in {"gambler_lasting", "insurance_ruin", "insurance_small"}
    assert (best(mdp) > max(constant) + 1e-6) == (not blind)


def test_runs_are_as_short_as_said(task: str) -> None:
    env, mdp = TASKS[task], make(task)
    most = env["steps"] if not mdp.horizon else env["episodes"] * mdp.horizon
    assert ("steps" in env) == (not mdp.horizon)
    assert 20_000 <= most <= (160_000 if mdp.ends.any() else 60_000)


def met(mdp: MDP) -> set[int]:
    """List the states that an agent may have to act in."""
    found = {int(s) for s in mdp.start_states}
    while new := {s_next for s in found for s_next in successors(mdp, s)} - found:
        found |= new
    return found


def successors(mdp: MDP, s: int) -> Iterator[int]:
    first, last = mdp.offsets[s * mdp.n_actions], mdp.offsets[(s + 1) * mdp.n_actions]
    for slot in range(int(first), int(last)):
        if not mdp.ends[slot]:
            yield int(mdp.successors[slot])


def test_numbers_that_are_never_met_are_where_they_are_said_to_be(task: str) -> None:
    mdp, env = make(task), TASKS[task]["env"]
    unmet = UNMET_OF_CLIFF if task == "cliff" else UNMET.get(env, 0)
    if env == "gambler" and mdp.horizon:
        unmet = 2  # its ends
    assert mdp.n_states - len(met(mdp)) == unmet


def test_what_is_added_to_all_rewards_changes_no_gap() -> None:
    parameters = TASKS["sparse_shifted"]["parameters"]
    shifted, plain = (ht.make_mdp("sparse", **{**parameters, "shift": shift}) for shift in (100.0, 0.0))
    np.testing.assert_allclose(shifted.row_means - plain.row_means, 100.0)
    assert best(shifted) == pytest.approx(best(plain) + 100.0 * shifted.horizon)


def test_the_rare_reward_decides_where_it_is_said_to() -> None:
    matters = {"catastrophe": 0, "mishap": 1, "jackpot": 1, "windfall": 0}  # the best action
    usual = {"catastrophe": 1, "mishap": 1, "jackpot": 0, "windfall": 0}  # by what mostly comes
    for task, action in matters.items():
        mdp = make(task)
        assert (np.argmax(mdp.mean_rewards.reshape(-1, 2), axis=-1) == action).all()
        often = ht.make_mdp("rare", **{**TASKS[task].get("parameters", {}), "chance": 0.0})
        assert (np.argmax(often.mean_rewards.reshape(-1, 2), axis=-1) == usual[task]).all()


@pytest.mark.parametrize("mean", [-1.5, 0.0, 2.0])
def test_laws_have_their_means_and_lean_to_their_side(mean: float) -> None:
    build = importlib.import_module("unseen_build")
    sides = {"pareto_up": 1, "pareto_down": -1, "stable_up": 1, "stable_down": -1, "normal": 0, "student": 0}
    sides["multiplied"] = int(np.sign(mean))
    for shape, side in sides.items():
        law = build.shaped(shape, mean, 1.0, 7.0)
        assert law.mean() == pytest.approx(mean + 7.0)
        lean = law.mean() - np.median(law.sample(4000, seed=1))
        assert abs(lean) < 0.1 if side == 0 else side * lean > 0.2
    assert build.shaped("none", mean, 1.0, 7.0) == ht.laws.constant(mean + 7.0)


def test_what_is_multiplied_keeps_its_sign() -> None:
    build = importlib.import_module("unseen_build")
    for mean in (-1.5, 2.0):
        samples = build.shaped("multiplied", mean, 1.0, 0.0).sample(4000, seed=1)
        assert (np.sign(samples) == np.sign(mean)).all()


def regret(mdp: MDP, agent: str, **parameters: Any) -> list[float]:
    learner = ht.make_agent(mdp, "untold", agent=agent, seed=1, **parameters)
    return learner.learn(100, checkpoints=10).regret.tolist()


def test_an_agent_that_is_told_nothing_learns_the_unit() -> None:
    mdp = make("ring_pareto")
    sketched = regret(mdp, "heavy_ucrl2", estimator="sketch")
    assert regret(mdp, "ucrl2") == sketched
    told = ht.make_agent(mdp, "ucrl2", seed=1).learn(100, checkpoints=10).regret.tolist()
    assert told != sketched
