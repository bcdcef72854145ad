"""Results that must not change without anybody noticing.

How each of heavytail's own agents, and the auditor of studies/theory, ends in three small environments.

The numbers in ``tests/golden/results.json`` were made on x86-64 Linux. What kernels compute is the same
everywhere; the constants with which agents and laws are built, logarithms, powers and cosines, come from the
machine's mathematical library, whose last bit may differ from one to the next. So counts are compared exactly
and sums of rewards to nine digits: enough for any change of an algorithm to show, as a single other action
moves them by far more.

If results are meant to change: raise ``RESULTS_VERSION`` in ``src/heavytail/studies/part.py``, so that
nobody's stored parts are taken for new ones, say so in the changelog, and write the file anew with ``python
tests/studies/test_golden.py --write``.
"""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from heavytail.errors import InputError
from heavytail.registry import find, own_builders
from heavytail.studies.part import RESULTS_VERSION, Part
from heavytail.studies.part_table import run_part
from heavytail.studies.plan import evaluation_cells
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.plugins import import_plugins
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import Spec

GOLDEN = Path(__file__).parents[1] / "golden" / "results.json"
ENVS: dict[str, Any] = {"six_arms": {}, "double_chain": {}, "two_state": {"steps": 3000}}
BONUS_SCALE = 0.003  # small, so that agents get beyond trying everything
CHANGED = (
    "{}: results changed. If that is intended, raise RESULTS_VERSION in src/heavytail/studies/part.py, say"
    " so in CHANGELOG.md, and write the golden file anew: python tests/studies/test_golden.py --write"
)


def spec_for(agent: str, env: str) -> Spec:
    found = find("agent", agent)
    scaled = {"bonus_scale": BONUS_SCALE, "constants": "tight"}
    taken = {"bonus_scale", "parameters"} & found.parameters.keys()
    agents = {agent: {"parameters": {**found.example, **(scaled if taken else {})}}}
    return make_spec(
        {
            "name": "golden",
            "episodes": 300,
            "seeds": 2,
            "checkpoints": 10,
            "envs": {env: ENVS[env]},
            "agents": agents,
        }
    )


def gather_runs(agent: str, env: str) -> bool:
    """Whether an agent can be built in an environment: some learn in episodes only."""
    try:
        check_plan(spec_for(agent, env))
    except InputError:
        return False
    return True


def part_of(agent: str, env: str) -> Part:
    ((part,),) = (cell.parts for cell in evaluation_cells(spec_for(agent, env), {}))
    return part


def results_of(agent: str, env: str) -> list[dict[str, Any]]:
    """The last checkpoint of each run."""
    part = part_of(agent, env)
    rows = [row for row in pq.read_table(io.BytesIO(run_part(part))).to_pylist() if row["at"] == part.units]
    names = ("run", "replicate", "at", "mean_reward", "realised_reward", "regret")
    return [{**{name: row[name] for name in names}, "counters": dict(row["counters"])} for row in rows]


def cases() -> list[str]:
    own = [
        f"{agent} on {env}"
        for agent in sorted(own_builders("agent"))
        for env in ENVS
        if gather_runs(agent, env)
    ]
    # of the plugin, which must not be imported while tests are collected: others are made from the registry
    return [*(f"audited on {env}" for env in ENVS), *own]


@pytest.fixture(scope="module", autouse=True)
def _auditor() -> None:
    import_plugins(["audited"])


@pytest.mark.parametrize("case", cases())
def test_results_are_what_they_were(case: str) -> None:
    golden = json.loads(GOLDEN.read_text())
    assert case in golden["results"], (
        f"{case} is new: write the golden file anew: python tests/studies/test_golden.py --write"
    )
    agent, env = case.split(" on ")
    for found, expected in zip(results_of(agent, env), golden["results"][case], strict=True):
        for name in ("run", "replicate", "at"):
            assert found[name] == expected[name], CHANGED.format(f"{case}, {name}")
        for name in ("mean_reward", "realised_reward", "regret"):
            assert found[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-6), CHANGED.format(
                f"{case}, {name}"
            )
        assert found["counters"].keys() == expected["counters"].keys(), CHANGED.format(case)
        for name, value in expected["counters"].items():
            exact = value == int(value)
            assert found["counters"][name] == (value if exact else pytest.approx(value, rel=1e-9)), (
                CHANGED.format(f"{case}, {name}")
            )


def test_the_golden_file_is_of_this_version_and_complete() -> None:
    golden = json.loads(GOLDEN.read_text())
    assert golden["results_version"] == RESULTS_VERSION["tabular"]
    assert list(golden["results"]) == cases()


def write() -> None:
    """Make the golden file."""
    import_plugins(["audited"])
    page = {
        "results_version": RESULTS_VERSION["tabular"],
        "results": {case: results_of(*case.split(" on ")) for case in cases()},
    }
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(page, indent=1) + "\n")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
