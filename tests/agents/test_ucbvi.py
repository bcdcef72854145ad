"""UCBVI and Heavy-UCBVI against a slow twin, and what their bonuses promise."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agents.heavy_ucbvi import heavy_ucbvi
from heavytail.agents.ucbvi import UCBVI, back_up_all, plan, ucbvi
from heavytail.arrays import Floats
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import stream
from heavytail.mdp import MDP
from heavytail.serving.online_agent import OnlineAgent
from support import naive
from support import naive_agents as slow

PROBLEM = ht.Problem(n_states=3, n_actions=2, horizon=4, r_max=2.0)


def small(noise: ht.laws.Law) -> MDP:
    """Three states, of which the last ends an episode, and laws with a density."""
    rng = np.random.default_rng(2)
    transitions = rng.dirichlet([1.0, 1.0, 0.4], size=(3, 2))
    laws = [[noise.with_mean(float(m)) for m in row] for row in rng.uniform(0.2, 1.0, (3, 2))]
    return ht.mdp_from_arrays(transitions, laws=laws, horizon=4, terminal=[False, False, True])


def tight_bonus(H: int, S: int, A: int, T: int, delta: float, r_max: float) -> list[float]:
    return [(H - 1 - h) * r_max * math.sqrt(math.log(2 * H * S * A * T / delta) / 2) for h in range(H)]


@pytest.mark.parametrize("clipped", [True, False])
@pytest.mark.parametrize("heavy", [False, True])
def test_it_does_what_its_slow_twin_does(heavy: bool, clipped: bool) -> None:
    """The same path, and the same Q before every one of 150 episodes."""
    epsilon, moment, T, delta = 0.5, 40.0, 1000, 0.1
    mdp = small(ht.laws.student_t(1.8) if heavy else ht.laws.normal(0.0, 0.3))
    r_max, level = float(mdp.row_means.max()), math.log(2 * 3 * 2 * T / delta)
    estimate: slow.Estimate = (
        partial(_truncated_mean, epsilon=epsilon, moment=moment) if heavy else slow.sample_mean
    )
    radius = slow.truncated_radius(epsilon, moment) if heavy else slow.hoeffding_radius(r_max)
    twin = slow.UCBVI(
        3,
        2,
        4,
        estimate,
        radius,
        level=level,
        reward_scale=0.04,
        bonus=[0.06 * b for b in tight_bonus(4, 3, 2, T, delta, r_max)],
        cap=[(4 - h) * r_max for h in range(4)],
        clipped=clipped,
    )
    parameters: dict[str, Any] = {
        "planned_steps": T,
        "delta": delta,
        "transition_scale": 0.03,
        "reward_scale": 0.02,
        "bonus_scale": 2.0,
        "clip_optimism": clipped,
    }
    if heavy:
        parameters |= {"epsilon": epsilon, "moment": moment}
    learner = ht.make_agent(mdp, "heavy_ucbvi" if heavy else "ucbvi", seed=4, **parameters)
    path = slow.play(twin, mdp, 4, 150)
    total, done = 0.0, 0
    for episode in range(150):
        curve = learner.learn(1, checkpoints=1)
        while done < len(path) and path[done].episode == episode:
            total += path[done].r
            done += 1
        assert curve.realised_reward[-1] == pytest.approx(total, abs=1e-9)
        assert learner.agent.model.visits.tolist() == slow.visits(path[:done], 3, 2)
    np.testing.assert_allclose(learner.agent.q, twin.q.reshape(4, 6), rtol=1e-9)
    assert any(step.terminated for step in path)
    assert sum(n > 0 for n in slow.visits(path, 3, 2)) >= 3


def _truncated_mean(x: list[float], log_confidence: float, *, epsilon: float, moment: float) -> float:
    return naive.truncated_mean(np.array(x), log_confidence, epsilon=epsilon, moment=moment)


def test_constants_are_those_of_the_docstring() -> None:
    T, delta = 5000, 0.1
    tight = ucbvi(
        PROBLEM, planned_steps=T, delta=delta, transition_scale=0.5, reward_scale=3.0, bonus_scale=0.2
    )
    np.testing.assert_allclose(tight.bonus, [0.1 * b for b in tight_bonus(4, 3, 2, T, delta, 2.0)])
    np.testing.assert_array_equal(tight.cap, [8.0, 6.0, 4.0, 2.0])
    assert tight.level == pytest.approx(math.log(2 * 3 * 2 * T / delta))
    assert tight.reward_scale == pytest.approx(0.6)
    paper = ucbvi(PROBLEM, planned_steps=T, delta=delta, constants="paper")
    np.testing.assert_allclose(paper.bonus, 7 * 4 * 2.0 * math.log(5 * 3 * 2 * T / delta))
    np.testing.assert_array_equal(paper.cap, [8.0] * 4)
    np.testing.assert_array_equal(tight.q, np.broadcast_to(tight.cap[:, None], (4, 6)))
    assert (ucbvi(PROBLEM, clip_optimism=False).q == math.inf).all()
    heavy = [
        heavy_ucbvi(PROBLEM, epsilon=0.5, moment=3.0, constants=constants) for constants in ("tight", "paper")
    ]
    assert [agent.estimator.factor / 3.0 ** (1 / 1.5) for agent in heavy] == pytest.approx(
        [1.5 + math.sqrt(2) + 1 / 3, 4.0]
    )
    assert heavy[0].estimator.max_level == heavy[0].level
    negative = ucbvi(PROBLEM._replace(r_max=-1.0))
    assert (negative.cap == 0).all()
    assert negative.bonus[0] > 0


def test_q_never_grows_when_clipped_and_does_when_not() -> None:
    mdp = small(ht.laws.normal(0.0, 0.3))
    for clipped in (True, False):
        learner = ht.make_agent(mdp, "ucbvi", seed=0, clip_optimism=clipped, bonus_scale=0.1)
        before, grew = learner.agent.q.copy(), False
        for _ in range(300):
            learner.learn(1, checkpoints=1)
            grew = grew or bool((learner.agent.q > before).any())
            before = learner.agent.q.copy()
        assert grew != clipped
        assert (before <= learner.agent.cap[:, None]).all() or not clipped


def _plan(agent: UCBVI, everything: bool) -> None:
    """Plan; or make every backup again."""
    if everything:
        for h in range(agent.q.shape[0] - 1, -1, -1):
            back_up_all(agent, h)
    else:
        plan(agent)


@pytest.mark.parametrize("clipped", [True, False])
@pytest.mark.parametrize("r_max", [1.0, None])
def test_backups_that_are_not_due_would_change_nothing(clipped: bool, r_max: float | None) -> None:
    """To the last bit, in episodes of which some end early, also where the unit of the caps is learnt."""
    problem = ht.Problem(n_states=60, n_actions=2, horizon=6, r_max=r_max)
    agent = ucbvi(problem, clip_optimism=clipped, bonus_scale=0.1)
    steps: OnlineAgent[int] = OnlineAgent(agent, stream(1), problem)
    rng, s, listed = np.random.default_rng(3), 0, 0
    for _ in range(2000):
        a = steps.act(s)
        s_next = int(rng.integers(60)) if rng.random() < 0.1 else (3 * s + a + 1) % 60
        terminated = rng.random() < 0.05
        steps.update(s, a, rng.standard_t(1.5), s_next, terminated=terminated)
        s = s_next
        if rng.random() < 0.2:
            agent = steps.agent
            number = int(agent.due.number[0])
            entry(_plan, agent)(agent, False)
            listed += int(agent.due.number[0]) - number - 1
            planned = agent.q.copy()
            entry(_plan, agent)(agent, True)
            np.testing.assert_array_equal(agent.q, planned)
    assert listed > 400  # steps for which backups were listed


def optimal_q(mdp: MDP) -> Floats:
    """[H, S*A]; for rewards and transitions that do not depend on the step, and no terminal states."""
    values = ht.planning.episodic_plan(mdp).values
    q = [mdp.mean_rewards + mdp.transitions @ values[h + 1] for h in range(mdp.horizon)]
    return np.array(q).reshape(mdp.horizon, -1)


@pytest.mark.parametrize("agent", ["ucbvi", "heavy_ucbvi"])
def test_it_stays_above_the_optimal_values(agent: str) -> None:
    """Rewards 0 or 1, delta = 0.05.

    In at least 95 of 100 runs Q >= Q* everywhere, before every 250th of 5,000 episodes.

    Measured: all 100, with an excess at the start that comes down to 0.12 and 0.29 of the largest value. With
    a tenth of the bonuses, none of 40.
    """
    laws = [[ht.laws.bernoulli(p) for p in row] for row in ([0.5, 0.45], [0.9, 0.85])]
    mdp = ht.mdp_from_arrays([[[0.6, 0.4], [0.4, 0.6]], [[0.5, 0.5], [0.3, 0.7]]], laws=laws, horizon=3)
    best, known = optimal_q(mdp), {"epsilon": 1.0, "moment": 0.9} if agent == "heavy_ucbvi" else {}
    shares = {}
    for scale, runs in ((1.0, 100), (0.1, 40)):
        above = 0
        for seed in range(runs):
            learner = ht.make_agent(
                mdp,
                agent,
                seed=seed,
                r_max=1.0,
                planned_steps=15_000,
                bonus_scale=scale,
                constants="tight",
                **known,  # type: ignore[arg-type]  # the seed is not among them
            )
            always = True
            for _ in range(20):
                learner.learn(250, checkpoints=1)
                always = always and bool((learner.agent.q >= best - 1e-12).all())
            above += always
            if scale == 1.0:
                assert (learner.agent.q[0, :2].max() - best[0, :2].max()) < 0.4 * best.max()
        shares[scale] = above / runs
    assert shares[1.0] >= 0.95
    assert shares[0.1] < 0.5
