"""The Ray engine, each test in a process of its own: what Ray starts and prints stays there."""

import builtins
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heavytail.errors import InputError, install_extra
from heavytail.studies import Study, plan
from heavytail.studies.engines.ray import RayEngine
from support.processes import run
from support.small_studies import files, finished, small


def on_ray(script: str, raw: dict[str, Any], folder: Path) -> list[str]:
    """What a script prints; every process that it leaves behind is ended."""
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    done = run("-c", script, json.dumps(raw), str(folder), env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("\n")


@pytest.fixture
def one_run_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)


HERE = """
import json, sys
import ray
from heavytail.studies import Study, plan
from heavytail.studies.engines.ray import RayEngine

plan.STEPS_PER_PART = 1
Study(json.loads(sys.argv[1]), sys.argv[2] + "/ray").run("ray", workers=2)
print(ray.is_initialized())
"""


@pytest.mark.usefixtures("one_run_a_part")
def test_files_are_the_same_on_a_ray_started_here_which_ends_with_the_study(tmp_path: Path) -> None:
    """With tuning: two stages on one Ray."""
    assert on_ray(HERE, small(), tmp_path)[-1] == "False"
    assert files(tmp_path / "ray") == finished(small(), tmp_path / "inline")


CLUSTER = """
import json, sys, threading, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from heavytail.studies import Study, plan
from heavytail.studies.engines import ray as ray_engine

plan.STEPS_PER_PART = 1
notes, victim = Path(sys.argv[2]) / "notes", Path(sys.argv[2]) / "victim"
notes.touch()

compute = ray_engine.run_part_on_ray

def noted(part_json, modules, mdp):
    node = ray.get_runtime_context().get_node_id()
    on_victim = node == victim.read_text()
    with notes.open("a") as out:
        out.write(f"begun {node}\\n")
        held = on_victim and "done" in notes.read_text()
        out.write("held\\n" if held else "")
    time.sleep(600 if held else 0)  # it is at work until it is killed
    while not on_victim and "done" in notes.read_text() and "held" not in notes.read_text():
        time.sleep(0.01)  # the other node leaves some parts to it, however slowly it starts
    result = compute(part_json, modules, mdp)
    with notes.open("a") as out:
        out.write(f"done {node}\\n")
    return result

ray_engine.run_part_on_ray = noted
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
victim.write_text(second.node_id)
cluster.wait_for_nodes()

def kill_when_at_work():
    while "held" not in notes.read_text():
        time.sleep(0.005)
    cluster.remove_node(second, allow_graceful=False)

threading.Thread(target=kill_when_at_work, daemon=True).start()
try:
    Study(json.loads(sys.argv[1]), sys.argv[2] + "/ray").run("ray", address=cluster.address)
    print(notes.read_text().count("begun"), notes.read_text().count("done"))
finally:
    cluster.shutdown()
"""


@pytest.mark.usefixtures("one_run_a_part")
def test_what_a_killed_node_was_doing_is_done_elsewhere(tmp_path: Path) -> None:
    raw = small(seeds=4, envs={"six_arms": {}}, agents={"random": {}, "q_learning": {}})
    assert on_ray(CLUSTER, raw, tmp_path)[-1] == f"{8 + 1} {8}"  # one part was begun twice
    assert files(tmp_path / "ray") == finished(raw, tmp_path / "inline")


NOBODY = """
from heavytail.studies.engines.ray import RayEngine
for address in ("127.0.0.1:1", "nonsense", "nowhere.invalid:6379"):
    try:
        RayEngine(address)
    except ValueError as error:
        print(error)
"""


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    refused, nonsense, nowhere = on_ray(NOBODY, {}, tmp_path)
    assert refused == "the Ray cluster at 127.0.0.1:1 cannot be reached: [Errno 111] Connection refused"
    assert nonsense.startswith("the Ray cluster at nonsense cannot be reached: ")
    assert nowhere.startswith("the Ray cluster at nowhere.invalid:6379 cannot be reached: ")


NO_HOME = """
import os, sys
from heavytail.studies.engines.ray import RayEngine
del os.environ["RAY_AUTH_TOKEN"]
os.environ["HOME"] = sys.argv[2] + "/file"
try:
    RayEngine()
except ValueError as error:
    print(error)
"""


def test_a_home_that_cannot_be_written_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (said,) = on_ray(NO_HOME, {}, tmp_path)
    assert said.startswith("Ray cannot be reached: ")
    assert said.endswith("Ray keeps a secret there: set RAY_AUTH_TOKEN to one instead")


def test_without_ray_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = builtins.__import__

    def without_ray(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ray":
            raise ModuleNotFoundError("No module named 'ray'")
        return imports(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(InputError) as caught:
        Study(small(), tmp_path / "x").run("ray")
    assert str(caught.value) == f"the engine 'ray' needs Ray; {install_extra('ray')}"
    assert not (tmp_path / "x").exists()


def test_what_goes_wrong_on_a_worker_is_told_as_it_was() -> None:
    """A user's mistake is its one line, the death of workers is one line, a program's mistake is whole."""

    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        def __init__(self, cause: Exception) -> None:
            super().__init__(f"Traceback\n  of {cause}")
            self.cause = cause

    def told(error: Exception) -> Exception:
        engine = RayEngine.__new__(RayEngine)

        def get(reference: Any) -> None:
            raise error

        engine._ray = SimpleNamespace(
            get=get, exceptions=SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        )
        with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is the question
            engine._result(None)
        return caught.value

    mistake, bug = InputError("a worker cannot import mine"), RayTaskError(LookupError("x"))
    assert told(RayTaskError(mistake)) is mistake
    assert told(bug) is bug
    died = told(RayError("The worker died\nunexpectedly."))
    assert isinstance(died, InputError)
    assert str(died) == (
        "Ray gave up on a part: The worker died unexpectedly.; what is done is kept, continue with:"
        " heavytail resume"
    )
