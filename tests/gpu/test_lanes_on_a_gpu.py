"""Lanes on a real GPU against the CPU, bit for bit; `make test-gpu` runs this where there is one.

(Under numba's simulator it runs too, slowly.)
"""

import warnings
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.kernels.rng import streams
from heavytail.mdp.changing import changing_mdp
from heavytail.registry import find, registered
from heavytail.training.curve import place_checkpoints
from heavytail.training.fused import FIRST_COUNTER, MEAN, REALISED
from heavytail.training.lanes.batch import Lanes
from heavytail.training.lanes.layout import Deduplicated
from heavytail.training.learner import Learner

AGENTS = [found.name for found in registered("agent")]
ESTIMATORS = [
    (agent, estimator.name)
    for agent in AGENTS
    if "estimator" in find("agent", agent).parameters
    for estimator in registered("estimator")
]
LANES, EPISODES = 64, 400


def run_both(
    name: str, mdp: ht.MDP, episodes: int, /, **parameters: Any
) -> tuple[np.ndarray[Any, Any], list[ht.Curve]]:
    """What lanes recorded, and the curves of the same runs on the CPU."""
    at = place_checkpoints(0, episodes, 5, "even")
    learners: list[Learner] = [ht.make_agent(mdp, name, seed=seed, **parameters) for seed in range(LANES)]
    alike, seeds = (
        np.zeros(LANES, np.int64),
        Deduplicated([streams(seed) for seed in range(LANES)], np.arange(LANES)),
    )
    lanes = Lanes(
        Deduplicated([learners[0].agent], alike), Deduplicated([changing_mdp([mdp], [])], alike), seeds, at
    )
    lanes.run()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # restarting is past its inner agent's plan
        return lanes.values(), [learner.learn(episodes, checkpoints=at.tolist()) for learner in learners]


def check_same(values: np.ndarray[Any, Any], curves: list[ht.Curve]) -> None:
    for found, curve in zip(values, curves, strict=True):
        np.testing.assert_array_equal(found[:, MEAN], curve.mean_reward)
        np.testing.assert_array_equal(found[:, REALISED], curve.realised_reward)
        for k, counted in enumerate(curve.counters.values()):
            np.testing.assert_array_equal(found[:, FIRST_COUNTER + k], counted)


@pytest.mark.parametrize("agent", AGENTS)
def test_whole_runs_with_noise_are_those_of_the_cpu(agent: str) -> None:
    check_same(*run_both(agent, ht.make_mdp("six_arms"), EPISODES, **find("agent", agent).example))


@pytest.mark.parametrize(("agent", "estimator"), ESTIMATORS)
def test_with_every_estimator(agent: str, estimator: str) -> None:
    parameters = {**find("agent", agent).example, "estimator": estimator}
    check_same(*run_both(agent, ht.make_mdp("six_arms"), EPISODES, **parameters))


@pytest.mark.parametrize(
    "law",
    [
        {"law": "student_t", "df": 1.5},
        {"law": "pareto", "alpha": 1.2},
        {"law": "log_normal"},
        {"law": "constant"},
    ],
    ids=str,
)
def test_with_every_law(law: dict[str, Any]) -> None:
    check_same(
        *run_both(
            "heavy_q_learning",
            ht.make_mdp("double_chain", **law),
            2_000,
            epsilon=0.05,
            moment=1.0,
            transition_scale=0.02,
        )
    )
