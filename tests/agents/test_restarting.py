"""Restarts: when they come, what they leave, and around which agents.

Around every agent: as plain Python in one process of its own, because each pair is a loop of its own to
compile. Run as a script this file prints what it found there.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.agents.restarting import restart_steps
from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.files import Arrays
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import pool_fields, with_larger_pools
from heavytail.kernels.rng import streams
from heavytail.kernels.verbs import begin, update
from heavytail.registry import find, own_builders
from heavytail.serving.online_agent import OnlineAgent
from heavytail.training.step_loop import MDPStepper
from support import mdps

INNER = sorted(set(own_builders("agent")) - {"restarting"})
CHANGES, DELTA = 2, 0.08


def starts(m: int, changes: int) -> Any:
    """The schedule for epsilon = 1/m in whole numbers: ceil(i^(m + 2) / l^(m + 1)), each once."""
    i, last = 1, 0
    while True:
        step = -(-(i ** (m + 2)) // changes ** (m + 1))
        if step > last:
            yield step
        i, last = i + 1, max(step, last)


# The schedule


def test_the_schedule_has_the_numbers_of_the_reading() -> None:
    assert [step for _, step in restart_steps(0.05, 1, 3)] == pytest.approx([1, 4.2e6, 3.1e10], rel=0.02)
    assert [step for _, step in restart_steps(0.05, 5, 6)] == [1, 5, 277, 8200, 154_743, 2_065_215]


@pytest.mark.parametrize("m", [1, 2, 4, 9, 20])
@pytest.mark.parametrize("changes", [1, 2, 3, 5, 12])
def test_the_schedule_is_that_of_whole_numbers(m: int, changes: int) -> None:
    exact = list(islice(starts(m, changes), 40))
    found = [step for _, step in restart_steps(1 / m, changes, 40)]
    assert found[0] == 1
    assert found == sorted(set(found))
    near = [x for x in exact if x < 1e9]  # beyond, rounding may move one by a step
    assert found[: len(near)] == near
    assert found == pytest.approx([float(x) for x in exact], rel=1e-9)


def test_with_a_variance_restarts_come_at_cubes() -> None:
    cubes = sorted({math.ceil(i**3 / 9) for i in range(1, 60)})
    assert [step for _, step in restart_steps(1.0, 3, len(cubes))] == cubes
    assert [i for i, _ in restart_steps(1.0, 3, 3)] == [1, 3, 4]  # 1/9 and 8/9 are one step


def test_a_schedule_that_never_comes_is_one_line() -> None:
    with pytest.raises(
        InputError,
        match=(
            r"^restarting: with epsilon 0\.001 and changes 5 there would never be a restart; epsilon must be"
            r" larger$"
        ),
    ):
        ht.make_agent(mdps.mixed(), "restarting", agent="random", changes=5, epsilon=0.001)
    assert restart_steps(0.01, 1, 3000)[-1][1] == math.inf  # beyond the largest float, and no error


@pytest.mark.parametrize("name", ["mixed", "continuing"])
def test_restarts_come_when_the_schedule_says_and_are_counted(name: str) -> None:
    """In the fused loop, as many as there are starts up to the next step."""
    learner = ht.make_agent(
        mdps.MDPS[name](), "restarting", agent="heavy_ucrl2", changes=3, epsilon=0.5, moment=10.0, seed=0
    )
    expected = list(islice(starts(2, 3), 40))[1:]
    for _ in range(150):
        curve = learner.learn(7) if learner.unit == "episodes" else learner.learn(steps=7)
        steps = int(learner.run_state.steps[0])
        assert curve.counters["restarts"][-1] == sum(start <= steps + 1 for start in expected)
        assert learner.agent.agent.steps[0] == steps + 1 - max(
            [1, *(start for start in expected if start <= steps + 1)]
        )
    assert curve.counters["restarts"][-1] >= 10


def test_it_learns_again_after_a_change() -> None:
    """Two arms that change places after 10,000 steps.

    In the last 5,000 of 20,000, restarted, the agent plays the one that is now better; without, counts of
    10,000 plays stand against it.
    """
    arms = [ht.laws.normal(mean, 0.1) for mean in (0.1, 0.9)]
    changing = ht.changing_mdp(
        [ht.mdp_from_arrays(np.ones((1, 2, 1)), laws=[order], horizon=1) for order in (arms, arms[::-1])],
        at=[10_000],
    )
    known: dict[str, Any] = {"epsilon": 0.5, "moment": 1.0, "bonus_scale": 0.2, "constants": "tight"}
    for seed in range(5):
        learners = (
            ht.make_agent(changing, "restarting", seed=seed, agent="heavy_ucrl2", changes=2, **known),
            ht.make_agent(changing, "heavy_ucrl2", seed=seed, **known),
        )
        curves = [learner.learn(20_000, checkpoints=4).mean_reward for learner in learners]
        restarted, forever = ((float(curve[-1] - curve[-2]) / 5000 - 0.1) / 0.8 for curve in curves)
        assert restarted > 0.95
        assert forever < 0.8


# Around every agent


def extras(name: str) -> dict[str, Any]:
    return {key: value for key, value in find("agent", name).example.items() if key != "epsilon"}


def new(name: str) -> ht.Learner:
    return ht.make_agent(
        mdps.mixed(),
        "restarting",
        seed=5,
        agent=name,
        changes=CHANGES,
        epsilon=1.0,
        delta=DELTA,
        **extras(name),
    )


def inner(name: str, learner: ht.Learner) -> Record:
    """The agent inside, built by itself: with the same epsilon, and a delta of delta / l^2."""
    found = find("agent", name)
    known = {"epsilon": 1.0, "delta": DELTA / CHANGES**2}
    return found.builder(
        learner.problem,
        **{key: value for key, value in known.items() if key in found.parameters},
        **extras(name),
    )


def same(left: Record, right: Record) -> bool:
    """Bit for bit; of pools the shorter one's length, and nothing behind."""
    a, b = flatten("agent", left), flatten("agent", right)
    return a.keys() == b.keys() and all(_same_array(path, a, b, _pools("agent", left)) for path in a)


def _same_array(path: str, a: Arrays, b: Arrays, pools: set[str]) -> bool:
    if path not in pools:
        return np.array_equal(a[path], b[path])
    n = min(len(a[path]), len(b[path]))
    return np.array_equal(a[path][:n], b[path][:n]) and not a[path][n:].any() and not b[path][n:].any()


def _pools(prefix: str, record: Any) -> set[str]:
    inside = [
        _pools(f"{prefix}/{name}", value)
        for name, value in zip(record._fields, record, strict=True)
        if hasattr(value, "_fields")
    ]
    return {f"{prefix}/{name}" for name in pool_fields(record)}.union(*inside)


def _begin(agent: Record, s: int, rng: Any) -> None:
    begin(agent, s, rng)


def _update(agent: Record, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Any) -> None:
    update(agent, s, a, r, s_next, h, terminated, rng)


def report(name: str, folder: Path) -> dict[str, Any]:
    """60 episodes, one step at a time.

    At each restart the agent inside is compared with one that was built a moment ago and begins where this
    one does. Then a run through a file.
    """
    learner = new(name)
    at_first = same(learner.agent.agent, inner(name, learner))
    run = streams(5)
    env = MDPStepper(learner.mdp, run)
    steps: OnlineAgent[int] = OnlineAgent(learner.agent, run.agent, learner.problem)
    made, restarts, as_new, due = 0, [], [], starts(1, CHANGES)
    next(due)
    following = next(due)
    for _ in range(60):
        s, terminated, h = env.reset(), False, 0
        steps.begin(s)
        while not terminated and h < learner.problem.horizon:
            a = steps.act(s, h)
            s_next, r, terminated, _ = env.step(s, a, h)
            rng, before = run.agent.copy(), with_larger_pools(deepcopy(steps.agent.agent))
            steps.update(s, a, r, s_next, h, terminated)
            entry(_update, before)(
                before, s, a, r, s_next, h, terminated, rng
            )  # may draw, before the restart
            made, s, h = made + 1, s_next, h + 1
            if made + 1 == following:
                following = next(due)
                restarts.append(int(steps.agent.restarts[0]))
                fresh = inner(name, learner)
                entry(_begin, fresh)(fresh, s_next, rng)
                as_new.append(same(steps.agent.agent, fresh))
    once, first = new(name), new(name)
    once.learn(40)
    first.learn(23)
    first.save(folder / "agent.npz")
    second = ht.Learner.load(folder / "agent.npz")
    second.learn(17)
    return {
        "at_first": at_first,
        "restarts": restarts,
        "as_new": as_new,
        "reloaded": same(once.agent, second.agent),
    }


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    out = tmp_path_factory.mktemp("restarting") / "reports.json"
    folders = os.pathsep.join([str(Path(mdps.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": folders}
    subprocess.run([sys.executable, "-W", "error", __file__, str(out), *INNER], check=True, env=environment)
    found: dict[str, dict[str, Any]] = json.loads(out.read_text())
    return found


@pytest.mark.parametrize("name", INNER)
def test_around_any_agent_a_restart_makes_it_new(name: str, reports: dict[str, dict[str, Any]]) -> None:
    found = reports[name]
    assert found["at_first"]
    assert found["restarts"] == list(range(1, len(found["restarts"]) + 1))
    assert len(found["restarts"]) >= 5
    assert all(found["as_new"])
    assert found["reloaded"]


def test_the_confidence_inside_is_that_of_the_theorem() -> None:
    learner = ht.make_agent(
        mdps.mixed(),
        "restarting",
        agent="heavy_ucrl2",
        changes=5,
        epsilon=0.5,
        moment=10.0,
        delta=0.1,
        seed=0,
    )
    assert learner.agent.agent.delta == pytest.approx(0.1 / 25)
    assert learner.agent.agent.estimator.order == 1.5
    assert learner.parameters["moment"] == 10.0


def test_mistakes_are_one_line() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"agent": "q_lerning"}, "^there is no agent 'q_lerning'; did you mean 'q_learning'"),
        ({"agent": "q_learning", "moment": 3.0}, "^q_learning has no parameter 'moment'"),
        ({"agent": "heavy_ucrl2"}, "^heavy_ucrl2: rewards have no finite moment of order 1.5"),
        ({"agent": "restarting"}, r"^restarting needs agent= \(the id of the agent\)"),
        ({"agent": "random", "changes": 0}, "^restarting: changes must be at least 1"),
    ]
    for parameters, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            ht.make_agent(mdps.mixed(), "restarting", **{"changes": 2, "epsilon": 0.5, **parameters})
        assert "\n" not in str(caught.value)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        Path(sys.argv[1]).write_text(json.dumps({name: report(name, Path(where)) for name in sys.argv[2:]}))
