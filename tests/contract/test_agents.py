"""What every registered agent must do. A new agent is tested by existing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.errors import InputError
from heavytail.kernels import verbs
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import constant_fields, pool_fields
from heavytail.serving.online_agent import OnlineAgent
from support import traces
from support.mdps import MDPS

AGENTS = [r.name for r in ht.registered("agent")]


def _can(agent: str, mdp: str) -> bool:
    """Whether an agent takes this kind of problem; one that does not must say so in a word about episodes."""
    try:
        traces.new_learner(agent, mdp)
    except InputError as error:
        if "continuing" not in str(error):
            raise
        return False
    return True


CASES = [(agent, mdp) for agent in AGENTS for mdp in MDPS if _can(agent, mdp)]


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, traces.Trace]:
    """All runs again, as plain Python."""
    out = tmp_path_factory.mktemp("plain") / "traces.npz"
    names = [f"{agent}:{mdp}" for agent, mdp in CASES]
    folders = os.pathsep.join([str(Path(traces.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": folders}
    subprocess.run([sys.executable, "-m", "support.traces", str(out), *names], check=True, env=environment)
    with np.load(out) as stored:
        return {
            name: {k.removeprefix(f"{name}:"): stored[k] for k in stored.files if k.startswith(f"{name}:")}
            for name in names
        }


def test_every_mdp_is_used() -> None:
    assert {mdp for _, mdp in CASES} == set(MDPS)


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_fused_equals_stepwise(agent: str, mdp: str) -> None:
    traces.assert_same(traces.run_fused(agent, mdp), traces.one_by_one(agent, mdp))


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_fused_equals_plain_python(agent: str, mdp: str, plain: dict[str, traces.Trace]) -> None:
    traces.assert_same(traces.run_fused(agent, mdp), plain[f"{agent}:{mdp}"])


def test_an_infinite_reward_was_met(plain: dict[str, traces.Trace]) -> None:
    """Otherwise the identity above would not cover it."""
    runs = [trace for name, trace in plain.items() if name.endswith(":infinite")]
    assert runs
    assert not any(np.isfinite(trace["run_state/totals"][1]) for trace in runs)


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_learn_save_load_learn_equals_learning_at_once(agent: str, mdp: str, tmp_path: Path) -> None:
    once, first = traces.new_learner(agent, mdp), traces.new_learner(agent, mdp)
    traces.learn(once, 50)
    traces.learn(first, 17)
    first.save(tmp_path / "agent.npz")
    second = ht.Learner.load(tmp_path / "agent.npz")
    traces.learn(second, 33)
    assert once.curve is not None
    assert second.curve is not None
    np.testing.assert_array_equal(once.curve.realised_reward[-1], second.curve.realised_reward[-1])
    traces.assert_same(_arrays(once), _arrays(second))


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_two_seeds_differ_and_one_repeats(agent: str, mdp: str) -> None:
    runs = [traces.new_learner(agent, mdp, seed) for seed in (1, 1, 2)]
    rewards = [traces.learn(run, 40).realised_reward for run in runs]
    np.testing.assert_array_equal(rewards[0], rewards[1])
    assert not np.array_equal(rewards[0], rewards[2])


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_reset_goes_back_to_the_first_moment(agent: str, mdp: str) -> None:
    learner = traces.new_learner(agent, mdp)
    fresh = flatten("agent", traces.new_learner(agent, mdp).agent)
    traces.learn(learner, 40)
    entry(_reset, learner.agent)(learner.agent)
    found, pools = flatten("agent", learner.agent), _named(pool_fields, "agent", learner.agent)
    assert not any(found[path].any() for path in pools)  # these may be longer than they were
    traces.assert_same(
        *({path: array for path, array in arrays.items() if path not in pools} for arrays in (found, fresh))
    )


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_what_a_record_calls_fixed_is_there_and_stays_as_it_is(agent: str, mdp: str) -> None:
    learner = traces.new_learner(agent, mdp)
    fixed = _named(constant_fields, "agent", learner.agent)
    before = {path: array.copy() for path, array in flatten("agent", learner.agent).items()}
    traces.learn(learner, 200)
    after = flatten("agent", learner.agent)
    assert fixed <= before.keys()
    traces.assert_same(*({path: arrays[path] for path in fixed} for arrays in (before, after)))


def test_some_arrays_are_called_fixed() -> None:
    """Otherwise the test above would look at nothing."""
    fixed = _named(constant_fields, "agent", traces.new_learner("heavy_q_learning", "mixed").agent)
    assert {"agent/table/cap", "agent/decay/series"} <= fixed


@pytest.mark.parametrize(("agent", "mdp"), CASES)
def test_acting_and_predicting_change_nothing_but_the_stream(agent: str, mdp: str) -> None:
    learner = traces.new_learner(agent, mdp)
    traces.learn(learner, 20)
    before = {path: array.copy() for path, array in _arrays(learner).items()}
    steps: OnlineAgent[int] = OnlineAgent(
        learner.agent, learner.streams.agent, learner.problem, predictions=learner.streams.predictions
    )
    steps.predict(0, 0)
    assert 0 <= learner.predict(1) < learner.mdp.n_actions
    after = _arrays(learner)
    changed = {path for path in before if not np.array_equal(before[path], after[path], equal_nan=True)}
    assert changed <= {"streams/predictions"}


@pytest.mark.parametrize("agent", AGENTS)
def test_evaluating_changes_nothing(agent: str) -> None:
    learner = traces.new_learner(agent, next(name for a, name in CASES if a == agent))
    traces.learn(learner, 20)
    before = {path: array.copy() for path, array in _arrays(learner).items()}
    assert learner.policy().shape[-1] == learner.mdp.n_states
    amount: dict[str, Any] = {learner.unit: 20}
    assert len(learner.evaluate(**amount).returns) == 20
    traces.assert_same(before, _arrays(learner))


@pytest.mark.parametrize("agent", AGENTS)
def test_the_required_verbs_are_there(agent: str) -> None:
    mdp = next(name for a, name in CASES if a == agent)
    cls = type(traces.new_learner(agent, mdp).agent)
    assert all(cls in verb.methods for verb in (verbs.act, verbs.update, verbs.reset))


@pytest.mark.parametrize("agent", AGENTS)
def test_the_builder_is_documented(agent: str) -> None:
    (found,) = (r for r in ht.registered("agent") if r.name == agent)
    assert found.doc
    assert all(name in found.doc for name in list(found.parameters)[1:])


def _arrays(learner: ht.Learner) -> traces.Trace:
    records = {"agent": learner.agent, "run_state": learner.run_state, "streams": learner.streams}
    return {path: array for name, record in records.items() for path, array in flatten(name, record).items()}


def _named(names_of: Callable[[Any], tuple[str, ...]], prefix: str, record: Any) -> set[str]:
    """The paths of the arrays that a record and those inside it name."""
    records = {
        name: value for name, value in zip(record._fields, record, strict=True) if hasattr(value, "_fields")
    }
    inside = [_named(names_of, f"{prefix}/{name}", value) for name, value in records.items()]
    return {f"{prefix}/{name}" for name in names_of(record)}.union(*inside)


def _reset(agent: object) -> None:
    verbs.reset(agent)
