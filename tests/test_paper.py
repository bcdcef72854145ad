"""It learns what the paper says.

Where the best arm pays with heavy tails, heavy-tailed agents find it and light-tailed ones mostly stay on the
light arm.

Working points were found on seeds 0 to 9 alone, and are tested on others. ``.venv/bin/python
tests/test_paper.py [agent ...]`` goes through the grid again and prints what it finds: the scales of bonuses
from 0.01 to 1, the paper's range, in half decades; the same ones for heavy-tailed and light-tailed agents.
The best point is the one with the largest mean.
"""

import itertools
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.arrays import Floats
from heavytail.statistics import permutation_test

EPISODES, EPISODES_UCBVI = 200_000, 20_000
TUNING, FRESH, MORE_FRESH = range(10), range(100, 110), range(100, 130)
SCALES = (0.01, 0.03, 0.1, 0.3, 1.0)
LIGHT_ARM = {"six_arms": pytest.approx(28.8, rel=0.02), "double_chain": pytest.approx(2.41, rel=0.03)}

# What is not tuned. Heavy-UCRL2 has true moments: 14.25 bounds the raw ones of both tasks, 13.27 the central
# ones. The others truncate harder than the theory allows: with the true moment Heavy-Q-learning stays on the
# light arm.
MOM = "heavy_ucrl2, median of means"
FIXED: dict[str, tuple[str, dict[str, Any]]] = {
    "heavy_q_learning": ("heavy_q_learning", {"epsilon": 0.05, "moment": 1.0}),
    "heavy_ucrl2": ("heavy_ucrl2", {"epsilon": 0.05, "moment": 14.25}),
    MOM: ("heavy_ucrl2", {"epsilon": 0.05, "moment": 13.27, "estimator": "median_of_means"}),
    "q_learning": ("q_learning", {}),
    "ucrl2": ("ucrl2", {}),
    "psrl": ("psrl", {}),
    "heavy_ucbvi": ("heavy_ucbvi", {"epsilon": 0.05, "moment": 1.0, "clip_optimism": False}),
    "ucbvi": ("ucbvi", {"clip_optimism": False}),
}
TUNED = {"q_learning": ("transition_scale",), "psrl": ("reward_scale",)}  # the others have both

# Working points by task and agent: transition_scale, reward_scale (None: there is none). Behind each: mean,
# median and worst of the tuning seeds.
POINTS: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "six_arms": {
        "heavy_q_learning": (0.01, 0.01),  # 39.50, 39.64, 37.93
        "heavy_ucrl2": (1.0, 0.01),  # 39.03, 39.80, 36.03
        MOM: (0.3, 0.01),  # 39.27, 39.63, 35.86
        "heavy_ucbvi": (0.1, 0.03),  # 40.09, 40.11, 39.85
        "q_learning": (0.01, None),  # 28.78, 28.78, 28.76; nothing in the grid is above 28.80
        "ucrl2": (0.3, 0.3),  # 36.21, 39.77, 28.80; 28.80 is the median of further seeds
        "psrl": (None, 1.0),  # 30.64, 28.80, 28.80
        "ucbvi": (0.3, 0.01),  # 35.68, 37.98, 28.20
    },
    "double_chain": {
        "heavy_q_learning": (0.03, 0.01),  # 3.138, 3.130, 3.090
        "heavy_ucrl2": (0.1, 0.03),  # 3.132, 3.124, 3.107
        MOM: (
            0.01,
            0.03,
        ),  # 3.082, 3.074, 3.045; on 30 further seeds 1.19 at worst, and no better than UCRL2: not tested
        "heavy_ucbvi": (0.3, 0.01),  # 3.136, 3.126, 3.082
        "q_learning": (0.01, None),  # 2.408, 2.407, 2.400
        "ucrl2": (1.0, 0.1),  # 2.698, 2.412, 2.400
        "psrl": (None, 1.0),  # 2.479, 2.408, 2.400
        "ucbvi": (0.3, 0.03),  # 2.632, 2.422, 2.373
    },
}
# UCRL2 as in the reading notes: SixArms 29.52, 28.80, 28.80; DoubleChain 2.409, 2.407, 2.401. At its best
# points above more seeds find the heavy arm, though on further seeds not half of them.
SMALL = (0.01, 0.1)


def last_tenth(task: str, label: str, scales: dict[str, Any], episodes: int, seed: int) -> float:
    """The mean reward per episode in the last tenth: expected rewards of what was done, not those drawn."""
    agent, fixed = FIXED[label]
    curve = ht.make_agent(ht.make_mdp(task), agent, seed=seed, **fixed, **scales).learn(
        episodes, checkpoints=10
    )
    return float(curve.mean_reward[-1] - curve.mean_reward[-2]) / (episodes // 10)


def runs(
    task: str, label: str, scales: tuple[float | None, float | None], episodes: int, seeds: Iterable[int]
) -> Floats:
    given: dict[str, Any] = {
        name: value
        for name, value in zip(("transition_scale", "reward_scale"), scales, strict=True)
        if value is not None
    }
    return np.array([last_tenth(task, label, given, episodes, seed) for seed in seeds])


def p_value(heavy: Floats, light: Floats) -> float:
    """Of the hypothesis that the heavy-tailed agent is no better; one-sided, on means."""
    return permutation_test(heavy, light, "mean", rng=np.random.default_rng(0)).p_value


@pytest.mark.parametrize("task", LIGHT_ARM)
def test_heavy_tailed_agents_find_the_heavy_arm_where_light_tailed_ones_stay_on_the_light_one(
    task: str,
) -> None:
    """On ten other seeds it would fail by chance about once in eleven (SixArms) or twenty (DoubleChain).

    (From 30 further seeds, resampled.) A light-tailed agent is lucky more often.
    """
    best, point = ht.planning.optimal_value(ht.make_mdp(task)), POINTS[task]
    heavy = {
        label: runs(task, label, point[label], EPISODES, FRESH)
        for label in ("heavy_q_learning", "heavy_ucrl2")
    }
    light = {label: runs(task, label, point[label], EPISODES, FRESH) for label in ("q_learning", "psrl")}
    light["ucrl2"] = runs(task, "ucrl2", SMALL, EPISODES, FRESH)
    assert np.median(heavy["heavy_q_learning"]) >= 0.95 * best
    assert np.median(heavy["heavy_ucrl2"]) >= 0.88 * best
    assert {label: np.median(scores) for label, scores in light.items()} == dict.fromkeys(
        light, LIGHT_ARM[task]
    )
    tuned = runs(task, "ucrl2", point["ucrl2"], EPISODES, FRESH)
    for one, other in itertools.product(heavy.values(), (*light.values(), tuned)):
        assert p_value(one, other) < 0.01
    if task == "six_arms":
        median_of_means = runs(task, MOM, point[MOM], EPISODES, FRESH)
        assert p_value(median_of_means, light["ucrl2"]) < 0.01
        assert p_value(median_of_means, tuned) < 0.01


def test_heavy_ucbvi_beats_ucbvi() -> None:
    """UCBVI finds the heavy arm on some seeds and not on others, hence 30 of them."""
    for task, point in POINTS.items():
        heavy, light = (
            runs(task, label, point[label], EPISODES_UCBVI, MORE_FRESH) for label in ("heavy_ucbvi", "ucbvi")
        )
        assert p_value(heavy, light) < 0.01


def main(labels: Iterable[str]) -> None:
    """Go through the grid on the tuning seeds, for these agents."""
    with ProcessPoolExecutor() as pool:
        for label, task in itertools.product(labels, LIGHT_ARM):
            episodes = EPISODES_UCBVI if "ucbvi" in label else EPISODES
            names = TUNED.get(label, ("transition_scale", "reward_scale"))
            found = []
            for values in itertools.product(SCALES, repeat=len(names)):
                scales = dict(zip(names, values, strict=True))
                scores = list(pool.map(partial(last_tenth, task, label, scales, episodes), TUNING))
                line = (
                    f"{task}, {label}, {scales}: mean {np.mean(scores):.3f}, median"
                    f" {np.median(scores):.3f}, worst {min(scores):.3f}"
                )
                found.append((np.mean(scores), line))
                print(line, flush=True)  # noqa: T201 - a script
            print(f"best: {max(found)[1]}\n", flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main(sys.argv[1:] or FIXED)
