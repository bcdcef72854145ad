import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavytail as ht
from heavytail.agents.q_learning import q_learning
from heavytail.arrays import Ints, Stream
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry, interpret
from heavytail.kernels.rng import streams, uniform
from heavytail.kernels.verbs import act, full, update
from heavytail.mdp import MDP
from heavytail.mdp.problem import Problem
from heavytail.serving.online_agent import OnlineAgent
from heavytail.training import fused, step_loop
from heavytail.training.reward_batches import new_reward_batch
from support import mdps, naive
from support.growing_agent import Growing, growing
from support.wild_agent import Wild


def _chunked(
    agent: Any, mdp: MDP, until: int, sizes: list[int], seed: int = 1
) -> tuple[fused.RunState, fused.Checkpoints]:
    """A run in chunks of given sizes, over and over."""
    run_streams, batch, run_state = streams(seed), new_reward_batch(mdp), fused.new_run_state()
    recorded = fused.new_checkpoints(np.unique(np.array([1, until // 3, until])), agent)
    chunk = entry(fused.run_chunk, agent, mdp, run_streams, batch, run_state, recorded)
    status, k = fused.PAUSED, 0
    while status == fused.PAUSED:
        status = chunk(agent, mdp, run_streams, batch, run_state, recorded, until, sizes[k % len(sizes)])
        k += 1
    assert status == fused.DONE
    return run_state, recorded


@pytest.mark.parametrize("name", ["mixed", "staged", "continuing"])
def test_where_chunks_end_changes_nothing(name: str) -> None:
    mdp = mdps.MDPS[name]()
    runs = [
        _chunked(ht.make_agent(mdp, "random", seed=0).agent, mdp, 100, sizes)
        for sizes in ([10**9], [1], [2, 3, 50])
    ]
    for run_state, recorded in runs[1:]:
        for left, right in zip((*run_state, *recorded), (*runs[0][0], *runs[0][1]), strict=True):
            np.testing.assert_array_equal(left, right)


def test_q_learning_equals_its_naive_twin() -> None:
    """On deterministic rewards, with the transitions' own stream.

    The two round differently (b_t is one product there, a quotient here).
    """
    for mdp in (ht.make_mdp("six_arms"), mdps.staged()):
        exact = ht.mdp_from_arrays(mdp.transitions, mdp.mean_rewards, horizon=mdp.horizon)
        for constants in ("tight", "paper"):
            learner = ht.make_agent(
                exact, "q_learning", seed=4, bonus_scale=0.5, transition_scale=0.1, constants=constants
            )
            learner.learn(300)
            twin = naive.q_learning(
                exact,
                300,
                partial(interpret, uniform, streams(4).transitions),
                partial(_mean, exact),
                delta=0.05,
                planned_steps=10_000_000,
                scale=0.05,
                paper=constants == "paper",
            )
            for (h, s, a), value in twin.items():
                assert learner.agent.q[h, s, a] == pytest.approx(value, rel=1e-12)


def _mean(mdp: MDP, h: int, s: int, a: int, s_next: int) -> float:
    return float(mdp.mean_rewards[h, s, a] if mdp.n_stages > 1 else mdp.mean_rewards[s, a])


def test_q_learning_finds_the_best_policy_when_rewards_are_light() -> None:
    """Two states; moving on pays 0 and then 1 a step: the optimum needs one step of patience."""
    mdp = ht.mdp_from_arrays(
        [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]],
        laws=[[ht.laws.normal(0.3, 0.1), 0.0], [ht.laws.normal(1.0, 0.1), ht.laws.normal(0.9, 0.1)]],
        horizon=5,
    )
    learner = ht.make_agent(mdp, "q_learning", seed=0, transition_scale=0.05)
    curve = learner.learn(20_000)
    last_tenth = (curve.mean_reward[-1] - curve.mean_reward[-11]) / 2000
    assert last_tenth == pytest.approx(4.0, abs=0.05)
    assert learner.predict(0, 0) == 1


def test_curves_are_cumulative_and_end_with_the_totals() -> None:
    learner = ht.make_agent(mdps.mixed(), "random", seed=2)
    curve = learner.learn(50, checkpoints=[1, 2, 3, 50])
    assert curve.mean_reward[-1] == learner.run_state.totals[fused.MEAN]
    assert curve.realised_reward[-1] == learner.run_state.totals[fused.REALISED]
    again = ht.make_agent(mdps.mixed(), "random", seed=2)
    assert [again.learn(1, checkpoints=1).mean_reward[0] for _ in range(3)] == curve.mean_reward[:3].tolist()


def test_mean_and_realised_rewards_agree_on_average() -> None:
    """Normal rewards: the difference of the two totals is a sum of 50,000 N(0, 0.1**2).

    Six standard errors fail once in 5e8.
    """
    mdp = ht.mdp_from_arrays([[[1.0]]], laws=[[ht.laws.normal(2.0, 0.1)]])
    curve = ht.make_agent(mdp, "random", seed=0).learn(steps=50_000)
    assert curve.mean_reward[-1] == pytest.approx(100_000)
    assert abs(curve.realised_reward[-1] - curve.mean_reward[-1]) < 6 * 0.1 * math.sqrt(50_000)


def test_a_continuing_problem_keeps_its_state_between_calls() -> None:
    ring = ht.mdp_from_arrays(np.roll(np.eye(5), 1, axis=1)[:, None, :], np.arange(5.0)[:, None])
    learner = ht.make_agent(ring, "random", seed=0)
    learner.learn(steps=3)
    assert (int(learner.run_state.state[0]), int(learner.run_state.h[0])) == (3, 0)
    learner.learn(steps=4)
    assert int(learner.run_state.state[0]) == 2
    assert learner.run_state.totals[fused.MEAN] == 0 + 1 + 2 + 3 + 4 + 0 + 1


def test_an_episode_ends_in_a_terminal_state_or_at_the_horizon() -> None:
    """A walk from 0 to the terminal state 3: three steps; without it, the horizon of five."""
    walk = np.roll(np.eye(4), 1, axis=1)[:, None, :]
    rewards = np.ones((4, 1))
    ends = ht.make_agent(
        ht.mdp_from_arrays(walk, rewards, horizon=5, terminal=[0, 0, 0, 1]), "random", seed=0
    )
    runs_on = ht.make_agent(ht.mdp_from_arrays(walk, rewards, horizon=5), "random", seed=0)
    assert ends.learn(10).mean_reward[-1] == 30
    assert runs_on.learn(10).mean_reward[-1] == 50


def test_a_nan_reward_names_its_step() -> None:
    mdp = ht.mdp_from_arrays(
        np.roll(np.eye(4), 1, axis=1)[:, None, :],
        laws=[[0.0], [0.0], [ht.laws.empirical([1.0])], [0.0]],
        horizon=4,
    )
    mdp.laws.samples[:] = math.nan
    with pytest.raises(InputError, match=r"the reward of step 2 \(in state 2\) is nan"):
        ht.make_agent(mdp, "random").learn(1)


class Signs(NamedTuple):
    """Sums differences of what it is told: they must be ordinary integers, which go below zero."""

    total: Ints  # [1]


@act.method(Signs)
def _signs_act(agent: Any, s: int, h: int, rng: Stream) -> int:
    return 0


@update.method(Signs)
def _signs_update(
    agent: Any, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    agent.total[0] += min(s - s_next, 0) + min(a - s - 1, 0) + min(h - s_next - 1, 0)


def test_states_and_steps_are_ordinary_integers() -> None:
    mdp = mdps.mixed()
    agent, steps = Signs(np.zeros(1, np.int64)), Signs(np.zeros(1, np.int64))
    recorded = fused.new_checkpoints(np.array([50]), agent)
    fused.run(agent, mdp, streams(0), fused.new_run_state(), recorded, 50)
    run_streams = streams(0)
    step_loop.run(
        OnlineAgent(steps, run_streams.agent, Problem(3, 2, 4, None)),
        step_loop.MDPStepper(mdp, run_streams),
        4,
        fused.new_run_state(),
        recorded,
        50,
    )
    assert agent.total[0] == steps.total[0] < 0


class Stuck(NamedTuple):
    nothing: int


@act.method(Stuck)
def _stuck_act(agent: Any, s: int, h: int, rng: Stream) -> int:
    return 0


@full.method(Stuck)
def _stuck_full(record: Any) -> bool:
    return True


@pytest.mark.parametrize("action", [-1, 2, 2**40])
def test_an_action_that_does_not_exist_is_an_error_not_a_crash(action: int) -> None:
    mdp, run_state = mdps.mixed(), fused.new_run_state()
    with pytest.raises(InputError, match="an action that does not exist"):
        fused.run(Wild(action), mdp, streams(0), run_state, fused.new_checkpoints(np.array([5]), Wild(0)), 5)


@pytest.mark.parametrize("room", [1, 2, 1000])
def test_results_do_not_depend_on_the_size_of_a_pool(room: int) -> None:
    mdp = mdps.mixed()
    run_state, agent = fused.new_run_state(), growing(room)
    recorded = fused.new_checkpoints(np.array([40]), agent)
    agent = fused.run(agent, mdp, streams(7), run_state, recorded, 40)
    assert isinstance(agent, Growing)
    assert agent.used[0] == run_state.steps[0]
    assert agent.rewards[: agent.used[0]].sum() == pytest.approx(run_state.totals[fused.REALISED])
    assert recorded.values[0, fused.FIRST_COUNTER] == run_state.steps[0]


def test_an_agent_that_cannot_grow_says_so() -> None:
    with pytest.raises(TypeError, match="is full and has no pools"):
        ht.OnlineAgent(Stuck(0), streams(0).agent, Problem(1, 1, 0, None))


def test_q_learning_upper_bounds_are_safe_when_rewards_are_negative() -> None:
    agent: Any = q_learning(Problem(n_states=1, n_actions=1, horizon=3, r_max=-1.0))
    assert (agent.q == 0).all()
    assert agent.bonus.factor > 0
