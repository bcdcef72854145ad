"""Modules outside heavytail add an agent, a law, an estimator, an environment, a claim kind and an engine.

Each is one file on the path, named by ``plugins = [...]`` in a spec and used by the command line.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from heavytail.errors import InputError
from heavytail.studies.specs.reading import read_spec
from support.processes import python, run
from support.small_studies import files

MODULES = {
    "outside_law": '''
import math
from dataclasses import dataclass
from typing import ClassVar

from heavytail.laws.law import Law
from heavytail.laws.table import sampler
from heavytail.registry import register


@dataclass(frozen=True)
class Triangular(Law):
    name: ClassVar[str] = "outside_triangular"
    loc: float
    tail_index: ClassVar[float] = math.inf

    def mean(self):
        return self.loc

    def row(self):
        return (self.loc,)

    @classmethod
    def from_row(cls, row, data):
        return cls(float(row[0]))

    def _moment(self, p, center):
        return 2.0 / ((p + 1.0) * (p + 2.0)) if center == self.loc else math.nan


@register("law", "outside_triangular")
def outside_triangular(loc: float = 0.0) -> Triangular:
    """The sum of two uniforms on (-1/2, 1/2), around `loc`."""
    return Triangular(loc)


@sampler("outside_triangular")
def _draw(table, i, u, e):
    return table.parameters[i, 0] + u - math.exp(-e)
''',
    "outside_env": '''
from typing import Any

from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_arrays
from heavytail.registry import register


@register("env", "outside_arms")
def outside_arms(*, law: Any) -> MDP:
    """One state, two actions: the first pays nothing, the second by `law`."""
    return mdp_from_arrays([[[1.0], [1.0]]], laws=[[0.0, law]], horizon=1)
''',
    "outside_estimator": '''
import math
from typing import NamedTuple

import numpy as np

from heavytail.checks import Count
from heavytail.kernels import mean, push, radius, reset
from heavytail.registry import register


class Latest(NamedTuple):
    n: np.ndarray
    value: np.ndarray


@register("estimator", "outside_latest")
def outside_latest(n_cells: Count = 1) -> Latest:
    """The latest sample."""
    return Latest(np.zeros(n_cells, np.int64), np.zeros(n_cells))


@push.method(Latest)
def _push(estimator, cell, x):
    estimator.n[cell] += 1
    estimator.value[cell] = x


@mean.method(Latest)
def _mean(estimator, cell, log_confidence):
    return estimator.value[cell]


@radius.method(Latest)
def _radius(estimator, cell, log_confidence):
    return math.inf


@reset.method(Latest)
def _reset(record):
    record.n[:] = 0
    record.value[:] = 0.0
''',
    "outside_agent": '''
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Record
from heavytail.kernels import act, argmax_row, mean, push, reset, update
from heavytail.mdp.problem import Problem
from heavytail.registry import find, register


class Follower(NamedTuple):
    estimator: Record
    means: np.ndarray


@register("agent", "outside_follower", example={"estimator": "sample_mean"})
def outside_follower(problem: Problem, *, estimator: str) -> Follower:
    """The action whose estimate is best."""
    S, A = problem.n_states, problem.n_actions
    return Follower(find("estimator", estimator).builder(S * A), np.full((1, S, A), 10.0))


@act.method(Follower)
def _act(agent, s, h, rng):
    return argmax_row(agent.means, 0, s)


@update.method(Follower)
def _update(agent, s, a, r, s_next, h, terminated, rng):
    cell = s * agent.means.shape[2] + a
    push(agent.estimator, cell, r)
    agent.means[0, s, a] = mean(agent.estimator, cell, 1.0)


@reset.method(Follower)
def _reset(record):
    reset(record.estimator)
    record.means[:] = 10.0
''',
    "outside_claim": '''
import numpy as np

from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.studies.claims import ClaimKind, TestResult, metric_values


class AllRunsAbove(ClaimKind):
    def check(self, condition):
        super().check(condition)
        if condition.value is None:
            raise InputError("'outside_all_above' needs value=")

    def evaluate(self, evidence):
        values, bound = metric_values(evidence.condition, evidence.runs), evidence.value * evidence.whole
        verdict = "reproduced" if (values > bound).all() else "not reproduced"
        low, high, n = values.min(), values.max(), len(values)
        estimate = float(np.median(values))
        return TestResult(
            evidence.condition, evidence.env, "all runs", estimate, low, high, bound, runs=n, verdict=verdict
        )

    def sentence(self, condition, words):
        return f"{words.agent}, {words.metric}, above {words.number(condition.value)} in each single run"


@register("claim", "outside_all_above")
def outside_all_above() -> AllRunsAbove:
    """Every run is above a value."""
    return AllRunsAbove()
''',
    "outside_engine": '''
from heavytail.registry import register
from heavytail.studies.engines import PartDone
from heavytail.studies.part_table import run_part


class LastFirst:
    def run(self, parts, resume_folder):
        for part in reversed(parts):
            yield PartDone(part, run_part(part), 0.5, {"host": "outside"})


@register("engine", "outside_last_first")
def outside_last_first() -> LastFirst:
    """This process, the last part first."""
    return LastFirst()
''',
}
SPEC = f"""
name = "outside"
plugins = {json.dumps(list(MODULES))}
episodes = 40
seeds = 3
checkpoints = 10

[envs.arms]
env = "outside_arms"
parameters = {{ law = "outside_triangular", loc = 1.0 }}

[agents.random]
[agents.follower]
agent = "outside_follower"
parameters = {{ estimator = "outside_latest" }}

[[claims]]
claim = "The follower earns something in every run."
conditions = [{{ test = "outside_all_above", agent = "follower", value = 0.1 }}]
"""


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with the modules, and a spec that uses all of them."""
    (tmp_path / "modules").mkdir()
    for name, text in MODULES.items():
        (tmp_path / "modules" / f"{name}.py").write_text(text)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def heavytail(workplace: Path, *arguments: str, modules: bool = True) -> subprocess.CompletedProcess[str]:
    path = [os.environ.get("PYTHONPATH", ""), *([str(workplace / "modules")] if modules else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    return run("-c", "from heavytail.cli import app; app()", *arguments, cwd=workplace, env=environment)


def test_one_spec_uses_six_things_from_outside(workplace: Path) -> None:
    ran = heavytail(workplace, "run", "spec.toml", "--engine", "outside_last_first", "--out", "inline")
    assert ran.returncode == 0, ran.stderr
    parts = (workplace / "inline/parts").iterdir()
    agents = {agent for path in parts for agent in pq.read_table(path)["agent"].to_pylist()}
    assert agents == {"random", "outside_follower"}
    sidecars = [json.loads(path.read_text()) for path in (workplace / "inline/sidecars").iterdir()]
    assert {sidecar["host"] for sidecar in sidecars} == {"outside"}
    page = (workplace / "inline/report.html").read_text()
    assert "reward in the last tenth, above 0.1 in each single run" in page
    assert "reproduced" in page

    local = heavytail(
        workplace, "run", "spec.toml", "--engine", "local", "--workers", "2", "--out", "local", "--no-report"
    )
    assert local.returncode == 0, local.stderr  # processes import the modules too
    inline, computed = files(workplace / "inline"), files(workplace / "local")
    assert computed == {name: inline[name] for name in computed}

    status = heavytail(workplace, "status", "local")
    assert status.returncode == 0, status.stderr  # a study that is opened imports them as well


def test_a_missing_plugin_is_one_line(workplace: Path) -> None:
    ran = heavytail(workplace, "run", "spec.toml", modules=False)
    assert ran.returncode == 2
    assert ran.stderr == (
        "heavytail: spec.toml: plugins: the module 'outside_law' cannot be imported"
        " (ModuleNotFoundError: No module named 'outside_law'); it must be installed, or lie in"
        f" {workplace}\n"
    )
    assert not (workplace / "results").exists()


OWN = """
from typing import NamedTuple
from helper import ACTION
from heavytail.kernels import act, reset, update
from heavytail.mdp.problem import Problem
from heavytail.registry import register

class First(NamedTuple):
    action: int

@register("agent", "own_first")
def own_first(problem: Problem) -> First:
    \"\"\"The first action.\"\"\"
    return First(ACTION)

@act.method(First)
def _act(agent, s, h, rng):
    return agent.action

@update.method(First)
def _update(agent, s, a, r, s_next, h, terminated, rng):
    pass

@reset.method(First)
def _reset(record):
    pass
"""
OWN_SPEC = """
name = "own"
plugins = ["own"]
episodes = 20
seeds = 2
checkpoints = 10
envs.six_arms = {}
agents.own_first = {}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder that has a plugin, another module that it imports, and a spec, beside each other."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "own.py").write_text(OWN)
    (folder / "helper.py").write_text("ACTION = 0")
    (folder / "spec.toml").write_text(OWN_SPEC)
    return folder


def test_a_plugin_beside_the_spec_is_found_wherever_one_is(own: Path) -> None:
    """By the command, by its workers, and not by whoever only opens the study: that runs nothing."""
    run = ("run", "mine/spec.toml", "--engine", "local", "--workers", "2", "--out", "out", "--no-report")
    ran = heavytail(own.parent, *run)
    assert ran.returncode == 0, ran.stderr
    assert len(list((own.parent / "out/parts").iterdir())) > 0
    opened = heavytail(own.parent, "status", "out")
    assert opened.returncode == 2
    assert opened.stderr.endswith(
        "plugins: the module 'own' cannot be imported (ModuleNotFoundError: No module named 'own'); install"
        " it, or name its folder, as in PYTHONPATH=FOLDER heavytail resume STUDY; beside a spec it is found"
        " by: heavytail run SPEC\n"
    )
    again = heavytail(own.parent, *run)
    assert again.returncode == 0, again.stderr


def test_a_worker_elsewhere_finds_a_plugin_by_its_folder(own: Path) -> None:
    script = f"from heavytail.studies.plugins import import_located; import_located({{'own': {str(own)!r}}})"
    python(script, folder=own.parent)


@pytest.mark.parametrize(
    ("path", "name"), [("own.py", "own"), ("sub/own.py", "sub.own"), ("./own.py", "own")]
)
def test_the_path_of_a_plugin_is_one_line_that_names_the_module(own: Path, path: str, name: str) -> None:
    (own / "spec.toml").write_text(OWN_SPEC.replace('"own"]', f'"{path}"]'))
    with pytest.raises(
        InputError,
        match=f"plugins: '{path}' is the path of a file; a module is named as in an import: '{name}'",
    ):
        read_spec(own / "spec.toml")


def test_a_name_longer_than_that_of_any_file_is_one_line(own: Path) -> None:
    (own / "spec.toml").write_text(OWN_SPEC.replace('"own"]', f'"{"x" * 300}"]'))
    with pytest.raises(InputError, match=r"plugins: 'x+\S* has 300 characters, more than a file's name"):
        read_spec(own / "spec.toml")


def test_a_plugin_of_the_same_name_from_elsewhere_is_not_taken_for_the_one_beside(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (own / "json.py").write_text("ACTION = 1")
    (own / "spec.toml").write_text(OWN_SPEC.replace('"own"]', '"json"]'))
    with pytest.raises(
        InputError, match=f"the module 'json' is .*, and {own / 'json.py'} is another; rename one"
    ):
        read_spec(own / "spec.toml")


def test_an_unknown_engine_is_one_line(workplace: Path) -> None:
    ran = heavytail(workplace, "run", "spec.toml", "--engine", "outside_last_frist")
    assert ran.returncode == 2
    assert ran.stderr == (
        "heavytail: there is no engine 'outside_last_frist'; did you mean 'outside_last_first'?\n"
    )
