"""Heat maps: their colours, also where every run of a point failed, and which families span one."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from heavytail.report.figures.heat_maps import HeatMap, Measure, compute_shades, make_family_maps
from heavytail.studies.results import Task
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import Spec

REGRET, REWARD = (
    Measure("regret", large_is_good=False),
    Measure("reward", large_is_good=True),
)


@pytest.mark.parametrize(
    ("measure", "values", "expected"),
    [
        (REGRET, [[1.0, 10.0], [np.nan, 100.0]], [[1.0, 0.5], [1.0, 0.0]]),  # logarithmic
        (REGRET, [[-1.0, 1.0], [np.nan, 3.0]], [[1.0, 0.5], [1.0, 0.0]]),  # which these cannot be
        (REWARD, [[1.0, 10.0], [np.nan, 100.0]], [[0.0, 1 / 11], [1.0, 1.0]]),
        (REWARD, [[-200.0, -150.0], [np.nan, -100.0]], [[0.0, 0.5], [1.0, 1.0]]),
        (REWARD._replace(by_column=True), [[1.0, 10.0], [np.nan, 100.0]], [[1.0, 0.0], [1.0, 1.0]]),
        (REWARD, [[7.0, 7.0], [7.0, 7.0]], [[1.0, 1.0], [1.0, 1.0]]),
        (REGRET, [[np.nan, np.nan], [np.nan, np.nan]], [[1.0, 1.0], [1.0, 1.0]]),
    ],
)
def test_the_best_is_bright(measure: Measure, values: list[list[float]], expected: list[list[float]]) -> None:
    """One scale for both maps of a grid; a tile without a number is drawn without a colour."""
    maps = [HeatMap({"other": i}, "", "x", [None], [1, 2], np.array([row])) for i, row in enumerate(values)]
    np.testing.assert_allclose(np.concatenate(compute_shades(maps, measure)), expected)


REGRETS = {"random": 100.0, "psrl": 20.0, "optimal": -5.0}


def spec_of(*families: dict[str, Any]) -> Spec:
    return make_spec(
        {
            "name": "x",
            "episodes": 9,
            "families": {f"f{i}": {"env": "six_arms", **each} for i, each in enumerate(families)},
            "agents": {key: {} for key in REGRETS},
        }
    )


def stable(beta: float, alphas: tuple[float, ...] = (1.2, 1.5)) -> dict[str, Any]:
    return {"parameters": {"law": "alpha_stable", "beta": beta}, "vary": {"alpha": list(alphas)}}


def tasks_of(spec: Spec) -> dict[str, Task]:
    """Three runs of each agent; psrl's regret is ten times as large where the law is skewed."""

    def agent(key: str, beta: float) -> Any:
        regret = REGRETS[key] * (10.0 if key == "psrl" and beta > 0 else 1.0)
        return SimpleNamespace(key=key, runs=SimpleNamespace(regret=np.full((3, 2), regret)))

    return {
        name: cast(
            "Task",
            SimpleNamespace(optimum=1.0, agents=[agent(key, env.parameters["beta"]) for key in REGRETS]),
        )
        for name, env in spec.envs.items()
    }


def test_families_that_differ_in_one_number_are_a_map_of_every_agent() -> None:
    spec = spec_of(stable(0.5), stable(0.0))
    (found,) = make_family_maps(spec, tasks_of(spec))
    assert found.name == "six_arms-alpha-beta"
    assert [m.fixed["agent"] for m in found.maps] == list(REGRETS)
    first = found.maps[0]
    assert (first.rows, first.columns) == ([0.5, 0.0], [1.2, 1.5])
    # The least is a thousandth of the largest, since a regret below 0 has no ratio.
    np.testing.assert_allclose(found.maps[0].values, [[100.0 / 0.2] * 2, [100.0 / 0.1] * 2])
    np.testing.assert_allclose(found.maps[1].values, [[200.0 / 0.2] * 2, [20.0 / 0.1] * 2])
    np.testing.assert_allclose(found.maps[2].values, 1.0)


def test_other_families_are_no_map() -> None:
    one = spec_of(stable(0.5))
    apart = spec_of(stable(0.0), stable(0.5, (1.2, 1.6)))
    for spec in (one, apart):
        assert make_family_maps(spec, tasks_of(spec)) == []
