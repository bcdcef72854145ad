"""Agents whose calls are interpreted while a thread compiles them."""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.errors import InputError
from heavytail.serving import live_session
from support.online import NAMES, example_agent
from support.processes import python, run


class Compiler:
    """A thread that compiles until it is told to end."""

    def __init__(self) -> None:
        self.alive = True

    def is_alive(self) -> bool:
        return self.alive


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Let every agent be compiled by it."""
    thread = Compiler()
    monkeypatch.setattr("heavytail.kernels.packed.Packed.is_ready", lambda *given: False)
    monkeypatch.setattr(live_session, "_compile_aside", lambda packed: thread)
    return thread


def make(name: str) -> ht.OnlineAgent[Any]:
    return example_agent(name, 4, 3, horizon=5)


def drive(agent: ht.OnlineAgent[Any], rng: np.random.Generator, steps: int) -> list[Any]:
    """Let it act and learn; once of an infinite reward. Return all that it said."""
    said = []
    for i in range(steps):
        s = int(rng.integers(4))
        a = agent.act(s)
        reward = np.inf if i == 17 else float(rng.standard_t(1.5))
        agent.update(s, a, reward, int(rng.integers(4)), terminated=bool(rng.random() < 0.1))
        said += [a, agent.predict(s)] if i % 8 == 0 else [a]
    return said


def arrays(agent: ht.OnlineAgent[Any]) -> dict[str, bytes]:
    return {path: array.tobytes() for path, array in flatten("session", agent.session).items()}


@pytest.mark.parametrize("name", NAMES)
def test_interpreted_it_does_the_same(name: str, compiler: Compiler) -> None:
    """To the last bit, also where compiled code takes over."""
    compiled, early = make(name).warm_up(), make(name)
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    for compiler.alive in (True, False):
        assert drive(early, second, 40) == drive(compiled, first, 40)
        assert arrays(early) == arrays(compiled)


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
    compiler.alive = False
    for thread in threads:
        thread.join()
    assert agent.updates == 900


def test_one_that_is_interpreted_is_saved_and_loaded(compiler: Compiler, tmp_path: Path) -> None:
    agent = make("q_learning")
    drive(agent, np.random.default_rng(0), 10)
    agent.save(tmp_path / "agent.npz")
    loaded = ht.OnlineAgent.load(tmp_path / "agent.npz")
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    assert drive(loaded, first, 10) == drive(agent, second, 10)
    assert arrays(loaded) == arrays(agent)


def test_a_thread_compiles_and_the_next_process_loads(tmp_path: Path) -> None:
    """Agents of one kind share the thread; a problem of another size needs no other code."""
    first = """
    import threading
    import heavytail as ht
    agents = [ht.make_online(n, 2, "random", seed=0) for n in (3, 4, 5)]
    for agent in agents:
        agent.update(0, agent.act(0), 1.0, 1)
    (thread,) = (t for t in threading.enumerate() if t.name == "heavytail compiles")
    thread.join()
    for agent in agents:
        agent.update(0, agent.act(0), 1.0, 1)
    print([agent.updates for agent in agents])
    """
    second = """
    import threading
    import heavytail as ht
    agent = ht.make_online(100, 5, "random", seed=0, horizon=3)
    agent.update(0, agent.act(0), 1.0, 1)
    print([t.name for t in threading.enumerate() if t.name == "heavytail compiles"])
    """
    kept = {"HEAVYTAIL_CACHE_DIR": str(tmp_path / "kept")}
    assert python(first, folder=tmp_path, **kept) == "[2, 2, 2]"
    assert python(second, folder=tmp_path, **kept) == "[]"


def test_a_process_may_end_while_its_thread_compiles(tmp_path: Path) -> None:
    script = 'import heavytail as ht; ht.make_online(3, 2, "q_learning", seed=0, horizon=2).act(0); print(1)'
    done = run("-c", script, env={**os.environ, "HEAVYTAIL_CACHE_DIR": str(tmp_path / "kept")})
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_a_process_that_forks_waits_for_calls_of_other_threads(tmp_path: Path) -> None:
    """A child would wait for ever for the thread that saves, which it does not have."""
    script = """
    import os, threading, time
    import heavytail as ht
    agent = ht.make_online(3, 2, "random", seed=0)
    saving = threading.Event()
    def save():
        with agent._frozen():
            saving.set()
            time.sleep(0.5)
    threading.Thread(target=save).start()
    saving.wait()
    child = os.fork()
    if child == 0:
        os._exit(agent._turn.lock.locked() + agent.session.frozen[0])
    print(os.waitpid(child, 0)[1], agent._turn.lock.locked())
    """
    ended = python(script, folder=tmp_path, NUMBA_DISABLE_JIT="1")
    assert ended == "0 False"


def test_a_process_that_forks_waits_for_the_thread(tmp_path: Path) -> None:
    """A child would wait for ever for a compiler's lock that nobody gives back."""
    script = """
    import os
    import heavytail as ht
    agent = ht.make_online(3, 2, "random", seed=0)
    agent.act(0)
    child = os.fork()
    agent.update(0, agent.act(0), 1.0, 1)
    if child == 0:
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    assert python(script, folder=tmp_path, HEAVYTAIL_CACHE_DIR=str(tmp_path / "kept")) == "0"


def test_what_cannot_be_compiled_is_said_in_the_next_call(tmp_path: Path) -> None:
    """The thread keeps it to itself."""
    lines = "from typing import NamedTuple", "class Broken(NamedTuple):", "    x: int", ""
    (tmp_path / "broken.py").write_text("\n".join(lines))
    script = """
    from heavytail import Problem
    from heavytail.kernels.rng import stream
    from heavytail.kernels.verbs import act
    from heavytail.serving.online_agent import OnlineAgent
    from broken import Broken
    Broken.__module__ = "heavytail.broken"

    @act.method(Broken)
    def _act(agent, s, h, rng):
        return [agent.x] and 1  # compiled code makes no lists

    agent = OnlineAgent(Broken(5), stream(0), Problem(1, 2, 0, None))
    print(agent.act(0))
    try:
        agent.warm_up()
    except Exception as error:
        print(type(error).__module__)
    """
    printed = python(script, folder=tmp_path, HEAVYTAIL_CACHE_DIR=str(tmp_path / "kept")).split()
    assert printed == ["1", "numba.core.errors"]


def test_a_signal_handler_that_would_wait_for_itself_is_one_line(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agent = make("q_learning")
    agent.act(0)
    monkeypatch.setattr(compiler, "is_alive", lambda: agent.save(tmp_path / "agent.npz"))
    with pytest.raises(InputError, match="in the middle of a call"):
        agent.begin(0)
