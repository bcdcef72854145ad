"""SimHash gives observations that look alike one code, whatever the scale of their components."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from heavytail.gym.observation_codes import SimHash


def naive_code(draws: Any, low: Any, high: Any, observation: Any) -> int:
    """As the module says it: scale to [-1, 1], append a 1, project, take signs."""
    scaled = []
    for x, l, h in zip(observation, low, high, strict=True):
        if math.isinf(l) or math.isinf(h):
            x, l, h = (math.copysign(1.0, v) if math.isinf(v) else v / (1 + abs(v)) for v in (x, l, h))
        x = min(max(x, l), h)
        scaled.append(0.0 if h == l else (x - l) / (h - l) * 2 - 1)
    sums = [sum(a * x for a, x in zip(row, [*scaled, 1.0], strict=True)) for row in draws]
    return sum(2**i for i, s in enumerate(sums) if s > 0)


@pytest.mark.parametrize("bits", [1, 7, 32, 64, 70])
def test_the_code_is_the_signs_of_projections_of_the_scaled_observation(bits: int) -> None:
    low, high = np.array([-1.2, -0.07, -np.inf, 0.0, 2.0]), np.array([0.6, 0.07, np.inf, np.inf, 2.0])
    hashed = SimHash(spaces.Box(low, high, dtype=np.float64), bits=bits, seed=3)
    draws = np.random.default_rng(3).standard_normal((bits, 6))
    rng = np.random.default_rng(0)
    for _ in range(100):
        observation = rng.uniform([-1.5, -0.1, -5, -1, 1], [1, 0.1, 5, 10, 3])
        assert hashed(observation) == naive_code(draws, low, high, observation)
    assert hashed([0.0, 0.0, np.inf, np.inf, 2.0]) == naive_code(
        draws, low, high, [0.0, 0.0, np.inf, np.inf, 2.0]
    )


def test_neither_the_size_of_a_number_nor_the_origin_is_a_trap() -> None:
    """MountainCar's velocity, at most 0.07, changes the code.

    So does the distance from the origin, which without the constant would not.
    """
    space = gymnasium.make("MountainCar-v0").observation_space
    hashed = SimHash(space)
    assert hashed([-0.3, -0.05]) != hashed([-0.3, 0.05])
    centre = np.array([-0.3, 0.0])  # the middle of both bounds, where everything is 0
    step = np.array([0.3, 0.02])
    assert len({hashed(centre + share * step) for share in (0.1, 1.0, 2.0, 3.0)}) == 4
    codes = {hashed([x, v]) for x in np.linspace(-1.2, 0.6, 60) for v in np.linspace(-0.07, 0.07, 60)}
    assert 100 < len(codes) <= 1 + 32 + 32 * 31 / 2  # the cells that 32 lines can cut a plane into


def test_like_observations_share_codes_more_often_than_unlike_ones() -> None:
    hashed = SimHash(spaces.Box(-1.0, 1.0, (4,)))
    rng = np.random.default_rng(0)
    near, far = 0, 0
    for _ in range(300):
        x = rng.uniform(-1, 1, 4)
        near += hashed(x) == hashed(x + rng.normal(0, 0.003, 4))
        far += hashed(x) == hashed(rng.uniform(-1, 1, 4))
    assert near > 200
    assert far < 5


def test_the_velocities_of_cart_pole_which_have_no_bounds_are_seen() -> None:
    space = gymnasium.make("CartPole-v1").observation_space
    assert isinstance(space, spaces.Box)
    assert np.isinf(space.high[[1, 3]]).all()
    hashed = SimHash(space)
    codes = [
        {hashed(observation) for observation in np.linspace(-1, 1, 41)[:, None] * 2 * np.eye(4)[i]}
        for i in range(4)
    ]
    assert all(len(along_axis) > 5 for along_axis in codes)
    huge = SimHash(spaces.Box(np.finfo(np.float32).min, np.finfo(np.float32).max, (1,)))
    assert huge([-1.0]) != huge([1.0])  # bounds of 3.4e38 are none


def test_declared_bounds_take_the_place_of_those_of_the_space() -> None:
    space = spaces.Box(-np.inf, np.inf, (2,))
    observations = np.random.default_rng(0).uniform(-0.01, 0.01, (50, 2))
    assert len({SimHash(space)(o) for o in observations}) == 1
    near = SimHash(space, bounds=(-0.01, [0.01, 0.01]))
    assert len({near(o) for o in observations}) > 10
    assert near([5.0, -5.0]) == near([0.01, -0.01])  # beyond is at the bounds


def test_the_seed_draws_the_projection() -> None:
    box = spaces.Box(-1.0, 1.0, (3,))
    same, other = SimHash(box).projection, SimHash(box, seed=1).projection
    assert all((a == b).all() for a, b in zip(same, SimHash(box).projection, strict=True))
    assert (same.matrix != other.matrix).all()
