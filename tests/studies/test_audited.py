"""The plugin of studies/theory: against a slow twin, and the promises of the theory at two widths."""

import doctest
import importlib
import math
from collections import defaultdict
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.kernels.rng import streams
from heavytail.mdp import MDP
from heavytail.planning.reward_moments import reward_moments
from heavytail.serving.online_agent import OnlineAgent
from heavytail.studies.plugins import import_plugins
from heavytail.training.step_loop import MDPStepper
from support import mdps, naive

HEAVY: dict[str, Any] = {"epsilon": 0.5, "moment": 3.0}


@pytest.fixture(scope="module", autouse=True)
def auditor() -> ModuleType:
    """Import the plugin, and not while tests are collected: other tests are made from what is registered."""
    import_plugins(["audited"])
    return importlib.import_module("audited")


def test_its_examples(auditor: ModuleType) -> None:
    assert doctest.testmod(auditor).failed == 0


@pytest.mark.parametrize("agent", ["heavy_ucrl2", "heavy_q_learning"])
def test_an_audit_changes_nothing(agent: str) -> None:
    parameters = {**HEAVY, "bonus_scale": 0.1, "delta": 0.2, "constants": "tight"}
    alone = ht.make_agent(mdps.mixed(), agent, seed=4, **parameters)
    watched = ht.make_agent(mdps.mixed(), "audited", seed=4, agent=agent, **parameters)
    one, two = alone.learn(500, checkpoints=20), watched.learn(500, checkpoints=20)
    np.testing.assert_array_equal(one.mean_reward, two.mean_reward)
    for name, values in one.counters.items():
        np.testing.assert_array_equal(values, two.counters[name])
    assert watched.parameters["delta"] == 0.2


def path_of(watched: ht.Learner, units: int, seed: int) -> Any:
    """Yield what is known, one step at a time.

    After each begin and each update the agent, what was done, and all rewards and successors of each cell so
    far.
    """
    run = streams(seed)
    env = MDPStepper(watched.mdp, run)
    steps: OnlineAgent[int] = OnlineAgent(watched.agent, run.agent, watched.problem)
    rewards: dict[tuple[int, int], list[float]] = defaultdict(list)
    follows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for _ in range(units):
        s, terminated, h = env.reset(), False, 0
        steps.begin(s)
        yield steps.agent, None, rewards, follows
        while not terminated and h < watched.problem.horizon:
            a = steps.act(s, h)
            s_next, r, terminated, _ = env.step(s, a, h)
            steps.update(s, a, r, s_next, h, terminated)
            rewards[s, a].append(r)
            follows[s, a].append(watched.problem.n_states if terminated else s_next)
            yield steps.agent, (h, s, a), rewards, follows
            s, h = s_next, h + 1


def inside(mdp: MDP, agent: Any, rewards: Any, follows: Any) -> bool:
    """Tell whether the MDP is in the confidence set of Heavy-UCRL2 with the truncated mean.

    Everything is computed from scratch, from what was seen.
    """
    S, A, t = mdp.n_states, mdp.n_actions, sum(map(len, rewards.values())) + 1
    level = 7 * math.log(2 * S * A * t / agent.delta)
    constant = (1.5 + math.sqrt(2) + 1 / 3) * HEAVY["moment"] ** (1 / 1.5)
    ends = np.zeros((len(mdp.row_means), S + 1))
    np.add.at(ends, (mdp.rows(), np.where(mdp.ends, S, mdp.successors)), mdp.probabilities())
    for row, p in enumerate(ends):
        cell = divmod(row % (S * A), A)
        x, n = rewards[cell], max(len(rewards[cell]), 1)
        centre = naive.truncated_mean(np.array(x), level, epsilon=0.5, moment=HEAVY["moment"]) if x else 0.0
        if abs(centre - mdp.row_means[row]) > agent.reward_scale * constant * (level / n) ** (1 / 3):
            return False
        seen = np.bincount(follows[cell], minlength=S + 1) / n
        if x and np.abs(seen - p).sum() > agent.transition_scale * math.sqrt(
            14 * S * math.log(2 * A * t / agent.delta) / n
        ):
            return False
    return True


@pytest.mark.parametrize("name", ["mixed", "staged"])
@pytest.mark.parametrize("scales", [{"bonus_scale": 1.0}, {"reward_scale": 0.05}, {"transition_scale": 0.03}])
def test_of_heavy_ucrl2_it_finds_what_a_slow_auditor_finds(name: str, scales: dict[str, Any]) -> None:
    mdp = mdps.MDPS[name]()
    watched = ht.make_agent(mdp, "audited", seed=6, agent="heavy_ucrl2", **HEAVY, **scales)
    audits = escapes = 0
    for agent, _, rewards, follows in path_of(watched, 150, 6):
        if agent.agent.phases[0] > audits:
            audits += 1
            escapes += not inside(mdp, agent.agent, rewards, follows)
        assert (agent.audits[0], agent.escapes[0]) == (audits, escapes)
    assert audits > 15
    assert (escapes > 0) == (scales != {"bonus_scale": 1.0})


@pytest.mark.parametrize("name", ["mixed", "staged"])
@pytest.mark.parametrize("agent", ["q_learning", "heavy_q_learning"])
def test_of_q_learning_it_finds_what_a_slow_auditor_finds(agent: str, name: str) -> None:
    """The slow one looks at the whole table; an escape is an update that leaves its own cell below Q*."""
    mdp = mdps.MDPS[name]()
    best = optimal_q(mdp)
    known = HEAVY if agent == "heavy_q_learning" else {}
    watched = ht.make_agent(mdp, "audited", seed=1, agent=agent, **known, bonus_scale=0.002)
    audits = escapes = 0
    below: set[tuple[int, ...]] = set()
    for record, cell, _, _ in path_of(watched, 100, 1):
        table = record.agent.table if agent == "heavy_q_learning" else record.agent
        before, below = (
            below,
            {tuple(where) for where in np.argwhere(table.q < best - 1e-9 * np.abs(best).max()).tolist()},
        )
        if cell is not None:
            audits += 1
            escapes += cell in below
            assert below ^ before <= {cell}
        assert (record.audits[0], record.escapes[0]) == (audits, escapes)
    assert 0 < escapes < audits


def optimal_q(mdp: MDP) -> Floats:
    """Q* by the obvious loop over slots."""
    q, after = np.zeros((mdp.horizon, mdp.n_states, mdp.n_actions)), np.zeros(mdp.n_states)
    p, rows = mdp.probabilities(), mdp.rows()
    cells = mdp.n_states * mdp.n_actions
    for h in reversed(range(mdp.horizon)):
        first = h * cells if mdp.n_stages > 1 else 0
        flat = mdp.row_means[first : first + cells].copy()
        for row, slot_p, s_next, ends in zip(rows, p, mdp.successors, mdp.ends, strict=True):
            if first <= row < first + cells and not ends:
                flat[row - first] += slot_p * after[s_next]
        q[h] = flat.reshape(mdp.n_states, mdp.n_actions)
        after = q[h].max(axis=1)
    return q


def test_the_truth_is_the_mdp(auditor: ModuleType) -> None:
    mdp = mdps.mixed()
    truth = auditor.ground_truth(mdp)
    transitions = np.zeros((6, 4))
    transitions[np.repeat(np.arange(6), np.diff(truth.offsets)), truth.successors] = truth.probabilities
    np.testing.assert_allclose(transitions.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        transitions[:, 3].reshape(3, 2), mdp.transitions[:, :, 2]
    )  # the last state is terminal
    np.testing.assert_allclose(truth.values, optimal_q(mdp), rtol=1e-8, atol=1e-8)
    assert auditor.ground_truth(mdps.mixed(horizon=None)).values.size == 0


def test_the_relative_width_is_that_of_the_most_visited_cell() -> None:
    """The formulas, at the most visited cell.

    Of UCRL2 the wider of radius over r_max and half the L1 distance, of Heavy-Q-Learning the bonus over H
    r_max.
    """
    mdp = ht.make_mdp("bandits", n_states=1, gap=1.0, horizon=1, law="student_t", df=3.0, scale=0.3)
    for reward_scale in (1.0, 1e-4):
        learner = ht.make_agent(
            mdp, "audited", agent="heavy_ucrl2", epsilon=1.0, moment=2.0, reward_scale=reward_scale, seed=0
        )
        found = learner.learn(5000).counters["narrowest"][-1]
        n, level = learner.agent.agent.model.visits.max(), 7 * math.log(4 * 5001 / 0.05)
        width = reward_scale * (2 + math.sqrt(2) + 1 / 3) * math.sqrt(2 * level / n)
        assert found == pytest.approx(max(width, learner.agent.agent.half_widths.min()))
        assert (found == pytest.approx(width)) == (reward_scale == 1.0)
    learner = ht.make_agent(
        mdp, "audited", agent="heavy_q_learning", epsilon=1.0, moment=2.0, planned_steps=5000, seed=0
    )
    found = learner.learn(5000).counters["narrowest"][-1]
    t, table = learner.agent.agent.table.visits.max(), learner.agent.agent
    assert found == pytest.approx((table.table.bonus.factor + table.reward_bonus) / math.sqrt(t))
    light = ht.make_agent(mdp, "audited", agent="q_learning", bonus="bernstein", planned_steps=5000, seed=0)
    assert 0 < light.learn(5000).counters["narrowest"][-1] < 0.5


# The promises


LAWS: dict[str, tuple[ht.laws.Law, float]] = {
    "rare": (ht.laws.bernoulli(0.3, scale=10 / 3), 1.0),
    "stable": (ht.laws.alpha_stable(1.6, scale=0.1), 0.5),
}


@pytest.mark.parametrize("law", list(LAWS))
def test_the_mdp_stays_in_the_confidence_set_of_heavy_ucrl2(law: str) -> None:
    """In none of 40 runs of 50,000 steps does it leave; at a tenth of the width in all.

    Were the rate of escapes above 1/10 = delta, 40 runs without one would come once in 67 times.
    """
    noise, epsilon = LAWS[law]
    mdp = ht.make_mdp("two_state", law=noise, delta=0.4, gap=0.2)
    moment = float(reward_moments(mdp, 1 + epsilon, "raw").max())
    escaped = {}
    for scale in (1.0, 0.1):
        runs = [
            ht.make_agent(
                mdp,
                "audited",
                seed=seed,
                agent="heavy_ucrl2",
                epsilon=epsilon,
                moment=moment,
                delta=0.1,
                bonus_scale=scale,
            )
            for seed in range(40)
        ]
        escaped[scale] = sum(
            run.learn(steps=50_000, checkpoints=1).counters["escapes"][-1] > 0 for run in runs
        )
    assert escaped == {1.0: 0, 0.1: 40}


# Mistakes


def test_mistakes_are_one_line() -> None:
    changing = ht.make_mdp("changing_bandits")
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (
            changing,
            HEAVY,
            (
                "^audited compares an agent with the MDP it plays in, and this environment is none, or one"
                " that changes; give it an MDP"
            ),
        ),
        (
            mdps.mixed(),
            {"agent": "psrl"},
            (
                "^audited: psrl promises nothing that could be audited; choose from: heavy_q_learning,"
                " heavy_ucrl2"
            ),
        ),
        (
            mdps.mixed(),
            {"agent": "heavy_ucrl2", "epsilon": 1.0},
            "^heavy_ucrl2: rewards have no finite moment",
        ),
        (mdps.mixed(), {**HEAVY, "bonus": "bernstein"}, "^heavy_ucrl2 has no parameter 'bonus'"),
        (mdps.mixed(horizon=None), {**HEAVY, "agent": "heavy_q_learning"}, "continuing"),
    ]
    for env, parameters, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            ht.make_agent(env, "audited", **parameters)
        assert "\n" not in str(caught.value)
