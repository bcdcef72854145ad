"""Agents that are interpreted while another process compiles them."""

import json
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.errors import InputError
from heavytail.kernels.interpreting import OvertakenError, interpreter
from heavytail.serving import compile_aside as aside
from heavytail.serving import live_session
from heavytail.serving.rollback import rolled_back_on_error
from support.online import NAMES, example_agent
from support.processes import python, run_python

PROBLEM = ht.Problem(n_states=4, n_actions=3, horizon=5, r_max=1.0)
LOADED = """
agent = ht.make_online(3, 2, "random", seed=0)
agent.act(0)
from heavytail.serving.compile_aside import _started
print(len(_started))
"""


class Compiler:
    """A process that compiles until it is told to end."""

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Let every agent be compiled by it."""
    process = Compiler()
    monkeypatch.delenv("HEAVYTAIL_COMPILE")
    monkeypatch.setattr("heavytail.kernels.packed.Packed.would_keep", lambda *given: True)
    monkeypatch.setattr(live_session, "compile_aside", lambda *given: process)
    return process


def make(name: str) -> ht.OnlineAgent:
    return example_agent(name, 4, 3, horizon=5)


def drive(agent: ht.OnlineAgent, rng: np.random.Generator, steps: int) -> list[Any]:
    """Let it act and learn; once of an infinite reward. Return all that it said."""
    said = []
    for i in range(steps):
        s = int(rng.integers(4))
        a = agent.act(s)
        reward = np.inf if i == 17 else float(rng.standard_t(1.5))
        agent.update(s, a, reward, int(rng.integers(4)), terminated=bool(rng.random() < 0.1))
        said += [a, agent.predict(s)] if i % 8 == 0 else [a]
    return said


def arrays(agent: ht.OnlineAgent) -> dict[str, bytes]:
    return {path: array.tobytes() for path, array in flatten("session", agent.session).items()}


@pytest.mark.parametrize("name", NAMES)
def test_interpreted_it_does_the_same(name: str, compiler: Compiler) -> None:
    """To the last bit, also where compiled code takes over."""
    compiled, early = make(name).warm_up(), make(name)
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    assert drive(early, second, 40) == drive(compiled, first, 40)
    assert early._address is early._packed
    assert arrays(early) == arrays(compiled)
    compiler.returncode = 0
    assert drive(early, second, 40) == drive(compiled, first, 40)
    assert early._address is not early._packed
    assert arrays(early) == arrays(compiled)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_compiled_does_not_hang_on_sizes(name: str) -> None:
    small, large = (example_agent(name, n, 3, horizon=5) for n in (aside.MAX_STATES, 300))
    typeof: Any = numba.typeof
    assert typeof(small.session) == typeof(large.session)


def test_a_call_that_is_overtaken_is_made_again_compiled(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heavytail.kernels.interpreting.CALLS_BETWEEN_LOOKS", 50)
    compiled, early = make("psrl").warm_up(), make("psrl")
    looks = iter([None] * 3)
    monkeypatch.setattr(compiler, "poll", lambda: next(looks, 0))
    assert early.act(0) == compiled.act(0)
    assert next(looks, 0) == 0
    assert early._address is not early._packed
    assert arrays(early) == arrays(compiled)


def test_a_call_that_is_interrupted_changes_nothing(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, looks = make("heavy_psrl"), iter([None])
    drive(agent, np.random.default_rng(0), 20)
    before = arrays(agent)

    def interrupted_later() -> None:
        for _ in looks:
            return
        raise KeyboardInterrupt

    monkeypatch.setattr("heavytail.kernels.interpreting.CALLS_BETWEEN_LOOKS", 20)
    monkeypatch.setattr(compiler, "poll", interrupted_later)
    with pytest.raises(KeyboardInterrupt):
        agent.begin(0)
    assert arrays(agent) == before


def test_threads_may_share_one_that_is_interpreted(compiler: Compiler) -> None:
    agent = ht.make_online(50, 4, "q_learning", seed=0, horizon=5)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            s = int(rng.integers(50))
            agent.update(s, agent.act(s, h=0), 1.0, int(rng.integers(50)), h=0)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    compiler.returncode = 0
    for thread in threads:
        thread.join()
    assert agent.updates == 900


def test_a_copy_of_one_that_is_interpreted_learns_by_itself(compiler: Compiler, tmp_path: Path) -> None:
    agent = make("q_learning")
    drive(agent, np.random.default_rng(0), 10)
    agent.save(tmp_path / "agent.npz")
    loaded = ht.OnlineAgent.load(tmp_path / "agent.npz")
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    assert drive(loaded, first, 10) == drive(agent, second, 10)
    assert arrays(loaded) == arrays(agent)


def test_another_process_compiles_and_the_next_one_loads(tmp_path: Path) -> None:
    """Also for a problem of another size."""
    first = """
    import heavytail as ht
    from heavytail.serving.compile_aside import _started
    agent = ht.make_online(3, 2, "random", seed=0)
    agent.update(0, agent.act(0), 1.0, 1)
    assert agent._address is agent._packed
    (process,) = _started.values()
    process.wait()
    assert process.returncode == 0
    agent.update(0, agent.act(0), 1.0, 1)
    assert agent._address is not agent._packed
    print(agent.updates)
    """
    second = """
    import heavytail as ht
    from heavytail.serving.compile_aside import _started
    agent = ht.make_online(100, 5, "random", seed=0, horizon=3)
    agent.update(0, agent.act(0), 1.0, 1)
    print(agent._address is agent._packed, len(_started))
    """
    variables = {"HEAVYTAIL_CACHE_DIR": str(tmp_path / "kept"), "HEAVYTAIL_COMPILE": ""}
    assert python(first, folder=tmp_path, **variables) == "2"
    assert python(second, folder=tmp_path, **variables) == "False 0"


class Mine(NamedTuple):
    x: int


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The processes that are started, though none is."""
    started: list[list[str]] = []

    def start(command: list[str], **given: Any) -> Compiler:
        started.append(command)
        return Compiler()

    monkeypatch.delenv("HEAVYTAIL_COMPILE")
    monkeypatch.setattr("subprocess.Popen", start)
    monkeypatch.setattr(aside, "_started", {})
    return started


def start(agent: ht.OnlineAgent, **given: Any) -> Any:
    of_agent = {"name": agent.name, "parameters": agent.parameters, "problem": agent.problem}
    return aside.compile_aside(**{**of_agent, "session": agent.session, "functions": ["act"], **given})


def test_agents_of_one_type_are_compiled_once(
    commands: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    sizes = [(4, 3, 0.05), (20, 3, 0.05), (20, 5, 0.05), (20, 5, 0.1)]
    for n_states, n_actions, delta in sizes:
        agent = ht.make_online(n_states, n_actions, "q_learning", seed=0, horizon=5, delta=delta)
        assert start(agent) is not None
    ((*_, folder, _),) = commands
    assert (Path(folder) / "heavytail").exists()
    assert caplog.text.count("another process compiles q_learning") == 1


def test_sizes_may_be_numbers_of_numpy(commands: list[list[str]]) -> None:
    assert start(ht.make_online(np.int64(4), np.int64(3), "q_learning", seed=0, horizon=5)) is not None
    task = json.loads(commands[0][-1])
    assert task["problem"] == {"n_states": 2, "n_actions": 3, "horizon": 5, "r_max": None, "mdp": None}


def test_what_another_process_could_not_do_is_compiled_here(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make("q_learning")
    assert start(agent, session=agent.session._replace(agent=Mine(5))) is None
    assert start(agent, problem=PROBLEM._replace(mdp=ht.make_mdp("six_arms"))) is None
    assert start(agent, parameters={"moment": object()}) is None
    monkeypatch.setattr(aside, "MAX_BYTES", 1000)
    assert start(agent) is None
    monkeypatch.setattr(aside, "MAX_BYTES", 2**25)
    monkeypatch.setenv("HEAVYTAIL_COMPILE", "here")
    assert start(agent) is None
    monkeypatch.delenv("HEAVYTAIL_COMPILE")
    monkeypatch.setattr("sys.executable", "")
    assert start(agent) is None
    assert commands == []


def test_where_no_process_can_be_started_it_is_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEAVYTAIL_COMPILE")
    monkeypatch.setattr("heavytail.kernels.packed.Packed.would_keep", lambda *given: True)
    monkeypatch.setattr(aside, "_started", {})
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    agent = make("random")
    agent.update(0, agent.act(0), 1.0, 1)
    assert agent._address is not agent._packed


def test_calls_that_waited_for_warming_up_are_compiled(compiler: Compiler) -> None:
    """Interpreted they would go on beside compiled ones of other threads."""
    agent = make("q_learning")
    agent.act(0)
    early, where = agent._update, agent._address
    agent.warm_up()
    assert compiler.poll() is None
    before = interpreter.calls
    early(where, 0, 0, 1.0, 1, 0, False, False)
    assert interpreter.calls == before
    assert agent.updates == 1


def test_saving_is_due_also_where_a_call_is_undone() -> None:
    session = make("q_learning").session

    def undone() -> None:
        with rolled_back_on_error(session, but=("due", "frozen")):
            session.due[0] = 5
            raise OvertakenError

    with pytest.raises(OvertakenError):
        undone()
    assert session.due[0] == 5


def test_a_signal_handler_that_would_wait_for_itself_is_one_line(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agent = make("heavy_psrl")
    monkeypatch.setattr("heavytail.kernels.interpreting.CALLS_BETWEEN_LOOKS", 20)
    looks = iter([None])

    def handle() -> None:
        for _ in looks:
            return
        agent.save(tmp_path / "agent.npz")

    agent.act(0)
    monkeypatch.setattr(compiler, "poll", handle)
    with pytest.raises(InputError, match="in the midst of a call"):
        agent.begin(0)


def test_a_process_that_still_compiles_is_left_to_itself(tmp_path: Path) -> None:
    script = """
    import heavytail as ht
    agent = ht.make_online(3, 2, "random", seed=0)
    agent.update(0, agent.act(0), 1.0, 1)
    print(agent._compiling.pid)
    """
    variables = {"HEAVYTAIL_CACHE_DIR": str(tmp_path / "kept"), "HEAVYTAIL_COMPILE": ""}
    done = run_python(script, folder=tmp_path, **variables)
    assert "Exception ignored" not in done.stderr
    compiling = Path(f"/proc/{done.stdout.strip()}")
    while compiling.exists() and "Z" not in (compiling / "stat").read_text().split(")")[-1]:
        time.sleep(0.05)
    assert python("import heavytail as ht\n" + LOADED, folder=tmp_path, **variables) == "0"


def test_what_is_half_done_is_undone() -> None:
    session = make("q_learning").session
    before = session.rng.copy()

    def half() -> None:
        with rolled_back_on_error(session):
            session.rng[:], session.h[0] = 7, 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    np.testing.assert_array_equal(session.rng, before)
    assert session.h[0] == 0
