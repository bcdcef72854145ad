import os
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.errors import NumbaError

import heavytail as ht
from heavytail.arrays import Floats
from heavytail.kernels import compiling
from heavytail.kernels.compiling import entry, fingerprint, kernel, subroutine
from heavytail.training import fused
from heavytail.training.reward_batches import new_reward_batch
from support.processes import PATIENCE, python

# An outside package in four files: an agent, the estimator nested in it, a kernel that the estimator calls, a
# constant that the kernel reads.
FILES = {
    "outside_agent.py": """
        from typing import Any, NamedTuple
        from heavytail.registry import register
        from heavytail.kernels.verbs import act, mean, push, reset, update
        from outside_estimator import last

        class Outside(NamedTuple):
            estimator: Any

        @register("agent", "outside")
        def outside(problem):
            "An agent with an estimator inside."
            return Outside(last())

        @act.method(Outside)
        def _act(agent, s, h, rng):
            return int(mean(agent.estimator, 0, 1.0)) + 10

        @update.method(Outside)
        def _update(agent, s, a, r, s_next, h, terminated, rng):
            push(agent.estimator, 0, r)

        @reset.method(Outside)
        def _reset(record):
            reset(record.estimator)
    """,
    "outside_estimator.py": """
        from typing import NamedTuple
        import numpy as np
        from heavytail.kernels.verbs import mean, push, reset
        import outside_kernel

        class Last(NamedTuple):
            value: np.ndarray

        def last():
            return Last(np.zeros(1))

        @push.method(Last)
        def _push(estimator, cell, x):
            estimator.value[cell] = outside_kernel.doubled(x) + 100

        @mean.method(Last)
        def _mean(estimator, cell, log_confidence):
            return estimator.value[cell]

        @reset.method(Last)
        def _reset(record):
            record.value[0] = 0.0
    """,
    "outside_kernel.py": """
        from heavytail.kernels.compiling import kernel
        from outside_constant import FACTOR

        @kernel
        def doubled(x):
            return FACTOR * x + 1000
    """,
    "outside_constant.py": "FACTOR = 2.0",
}

ASK = """
    import heavytail as ht, outside_agent
    from heavytail.kernels.compiling import entry_with_gil
    from heavytail.serving.session import session_act, session_update
    from heavytail.serving.online_agent import OnlineAgent
    learner = ht.make_agent(ht.make_mdp("six_arms"), "outside", seed=0)
    many_actions = learner.problem._replace(n_actions=10_000)
    agent = OnlineAgent(learner.agent, learner.streams.agent, many_actions)
    agent.update(0, 0, 3.0, 1)
    action = agent.act(0)
    entries = [entry_with_gil(function, agent.session) for function in (session_act, session_update)]
    print(action, sum(sum(entry.dispatcher.stats.cache_hits.values()) for entry in entries))
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        _write(tmp_path / name, text)
    return tmp_path


def _write(path: Path, text: str) -> None:
    lines = text.splitlines()
    path.write_text("\n".join(line.removeprefix("        ") for line in lines) + "\n")


def _ask(folder: Path) -> tuple[int, int]:
    """What the outside agent answers in a fresh process, and how many of its entries came from the disk."""
    # Without bytecode files: Python itself would serve a stale one after two edits within a second.
    printed = python(
        ASK, folder=folder, HEAVYTAIL_CACHE_DIR=str(folder / "kept"), PYTHONDONTWRITEBYTECODE="1"
    )
    answer, hits = map(int, printed.split())
    return answer, hits


def test_an_edited_kernel_is_never_served_stale_and_an_edited_comment_recompiles_nothing(
    outside: Path,
) -> None:
    """One edit after the other, of each file."""
    assert _ask(outside) == (1116, 0)
    assert _ask(outside) == (1116, 2)
    for name, old, new, answer in (
        ("outside_agent.py", "+ 10", "+ 20", 1126),
        ("outside_estimator.py", "+ 100", "+ 200", 1226),
        ("outside_kernel.py", "+ 1000", "+ 2000", 2226),
        ("outside_constant.py", "2.0", "3.0", 2229),
    ):
        text = (outside / name).read_text()
        stamp = (outside / name).stat()
        (outside / name).write_text(text.replace(old, new))
        # Not even when its time says that nothing happened.
        os.utime(outside / name, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert _ask(outside)[0] == answer
        (outside / name).write_text("# a comment\n" + text.replace(old, new))
        assert _ask(outside) == (answer, 2)


def test_an_edit_while_a_process_runs_does_not_mislabel_what_it_compiled(outside: Path) -> None:
    """The process has loaded the old code and compiles it after the edit.

    The next one must not be served that.
    """
    edit = f"""
    import outside_agent, pathlib
    path = pathlib.Path("outside_agent.py")
    path.write_text(path.read_text().replace("+ 10", "+ 20"))
    {ASK}"""
    python(edit, folder=outside, HEAVYTAIL_CACHE_DIR=str(outside / "kept"), PYTHONDONTWRITEBYTECODE="1")
    assert _ask(outside)[0] == 1126


FUSED = """
    import heavytail as ht
    from heavytail.training import fused
    from heavytail.training.reward_batches import new_reward_batch
    from heavytail.kernels.compiling import entry
    learner = ht.make_agent(ht.make_mdp("six_arms"), "random", seed=0)
    total = learner.learn(10).realised_reward[-1]
    agent, mdp, streams = learner.agent, learner.mdp, learner.streams
    recorded = fused.new_checkpoints(learner.curve.at, agent)
    chunk = entry(fused.run_chunk, agent, mdp, streams, new_reward_batch(mdp), learner.run_state, recorded)
    stats = chunk.dispatcher.stats
    print(total, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run_fused(folder: Path) -> list[str]:
    """The reward of a short run in a fresh process, and how often its loop was loaded and compiled."""
    return python(FUSED, folder=folder, HEAVYTAIL_CACHE_DIR=str(folder / "kept")).split()


@pytest.fixture(scope="module")
def started_together(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """What three processes printed that started together with an empty cache."""
    folder = tmp_path_factory.mktemp("together")
    with ThreadPoolExecutor(3) as pool:
        return folder, list(pool.map(run_fused, [folder] * 3))


def test_processes_that_start_together_compile_once(started_together: tuple[Path, list[list[str]]]) -> None:
    """One compiles, the others wait for it and load what it kept."""
    printed = started_together[1]
    assert sorted(counts for _, *counts in printed) == [["0", "1"], ["1", "0"], ["1", "0"]]


def test_a_second_process_starts_from_the_cache(started_together: tuple[Path, list[list[str]]]) -> None:
    folder, printed = started_together
    assert run_fused(folder) == [printed[0][0], "1", "0"]


def test_records_of_main_compile_but_are_not_kept(tmp_path: Path) -> None:
    script = """
    from typing import NamedTuple
    import numpy as np
    from heavytail.kernels.rng import stream
    from heavytail import Problem
    from heavytail.serving.online_agent import OnlineAgent
    from heavytail.kernels.verbs import act, update
    class Mine(NamedTuple):
        x: int
    @act.method(Mine)
    def _act(agent, s, h, rng):
        return agent.x
    @update.method(Mine)
    def _update(agent, s, a, r, s_next, h, terminated, rng):
        pass
    agent = OnlineAgent(Mine(5), stream(0), Problem(1, 6, 0, None))
    print(agent.act(0))
    """
    assert python(script, folder=tmp_path, HEAVYTAIL_CACHE_DIR=str(tmp_path / "kept")) == "5"
    assert not list(tmp_path.glob("kept/*"))


@pytest.mark.parametrize(("mode", "user"), [(0o777, None), (0o770, None), (0o702, None), (0o700, 12345)])
def test_a_cache_that_others_can_write_to_is_not_used(
    mode: int, user: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba unpickles what it finds there. It is said once."""
    tmp_path.chmod(mode)
    monkeypatch.setenv("HEAVYTAIL_CACHE_DIR", str(tmp_path))
    with monkeypatch.context() as patch:
        if user is not None:
            patch.setattr("os.geteuid", lambda: user)
        with pytest.warns(UserWarning, match=f"code is not kept: others can write to {tmp_path}") as said:
            assert [compiling._kept_folder(name * 20) for name in "01"] == [None, None]
    assert len(said) == 1
    assert not list(tmp_path.iterdir())
    tmp_path.chmod(0o700)
    kept = compiling._kept_folder("0" * 20)
    assert kept == tmp_path / ("0" * 20)
    kept.chmod(0o777)
    compiling._warn_that_nothing_is_kept.cache_clear()
    with pytest.warns(UserWarning, match="compiled code is not kept: others can write to"):
        assert compiling._kept_folder("0" * 20) is None


@pytest.mark.parametrize("cause", ["no folder", "no home"])
def test_a_cache_that_cannot_be_written_is_a_warning_and_no_more(
    cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling._warn_that_nothing_is_kept.cache_clear()
    if cause == "no folder":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("HEAVYTAIL_CACHE_DIR", str(tmp_path / "file" / "folder"))
    else:  # in a container, with the id of a user that it does not know
        for name in ("HEAVYTAIL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("os.getuid", lambda: 54321)
    with pytest.warns(UserWarning, match=r"compiled code is not kept: .*; set HEAVYTAIL_CACHE_DIR"):
        compiled = compiling._entry.__wrapped__(_add, (), nogil=True)  # past functools.cache
    assert compiled(1, 2) == 3


def _add(x: int, y: int) -> int:
    return x + y


def made_in_a_function(step: float) -> Any:
    shift = kernel(lambda x: x + step)

    def shifted(x: float) -> float:
        return shift(x)

    return shifted


@pytest.mark.parametrize(
    ("function", "again", "loaded"),
    [
        (made_in_a_function(1.0), made_in_a_function(1.0), 1),
        (made_in_a_function(1.0), made_in_a_function(2.0), 0),
    ],
    ids=["that closes over a kernel", "that closes over another"],
)
def test_what_has_the_same_code_is_loaded(
    function: Any, again: Any, loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAVYTAIL_CACHE_DIR", str(tmp_path))
    numbers = (1.0, 2.0)[: function.__code__.co_argcount]
    for each, hits in ((function, 0), (again, loaded)):
        compiled: Any = compiling._entry.__wrapped__(each, (), nogil=True)  # past functools.cache
        assert compiled(*numbers) == each(*numbers)
        assert sum(compiled.dispatcher.stats.cache_hits.values()) == hits


def _first(record: "Inner") -> float:
    first: float = record.x[0]
    return first


@pytest.mark.parametrize("damage", [b"", b"cut", b"\x80\x04garbage", None])
def test_what_cannot_be_loaded_is_compiled_again(
    damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept file that is empty, cut or overwritten; or a folder in its place."""
    monkeypatch.setenv("HEAVYTAIL_CACHE_DIR", str(tmp_path))
    record = Inner(np.array([3.0]))
    anew = compiling._entry.__wrapped__  # past functools.cache, as another process would be
    assert anew(_first, (Inner,), nogil=True)(record) == 3.0
    kept = list(tmp_path.rglob("*.nb?"))
    assert {path.suffix for path in kept} == {".nbi", ".nbc"}
    for path in kept:
        path.unlink()
        path.mkdir() if damage is None else path.write_bytes(damage)
    assert anew(_first, (Inner,), nogil=True)(record) == 3.0
    again = anew(_first, (Inner,), nogil=True)
    assert again(record) == 3.0
    assert sum(again.dispatcher.stats.cache_hits.values()) == 1


@pytest.mark.parametrize(("kept", "words"), [(True, "kept for next time in"), (False, "not kept")])
def test_a_process_that_compiles_for_long_says_so_once(
    kept: bool, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: Queue[str] = Queue()
    monkeypatch.setattr(compiling, "SECONDS_OF_SILENCE", 0.0)
    monkeypatch.setattr(compiling.log, "log", lambda _, line, *rest: lines.put(line % rest))
    compiling._say_that_it_compiles.cache_clear()
    with compiling._said_if_long(tmp_path if kept else None):
        line = lines.get(timeout=PATIENCE)
        assert line.startswith(f"heavytail: compiling, a few seconds for each agent; {words}")
    compiling._say_that_it_compiles(kept)
    assert lines.empty()


def test_folders_unused_for_a_month_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAVYTAIL_CACHE_DIR", str(tmp_path))
    old, recent, foreign = tmp_path / ("a" * 20), tmp_path / ("b" * 20), tmp_path / "thesis"
    month_ago = time.time() - compiling.KEEP_UNUSED_SECONDS - 60
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (month_ago, month_ago))
    assert compiling._kept_folder("new") == tmp_path / "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == [recent.name, "new", "thesis"]


def test_one_compiled_signature_serves_whole_numbers_and_floats() -> None:
    """`alpha=1` for `1.0` would compile a second copy, silently."""
    forms: list[Any] = [(1, 2), (1.0, np.int64(2)), (np.float32(1), 2)]
    mdps: list[ht.MDP] = [
        ht.mdp_from_arrays([[[one]]], laws=[[ht.laws.normal(one, one)]], horizon=horizon)
        for one, horizon in forms
    ]
    agents: list[dict[str, Any]] = [
        {"delta": 0.5, "transition_scale": 1, "bonus_scale": 1, "r_max": 1, "planned_steps": 10**7},
        {
            "delta": np.float64(0.5),
            "transition_scale": 1.0,
            "bonus_scale": np.float32(1),
            "r_max": 1.0,
            "planned_steps": 1e7,
        },
    ]
    learners = [
        ht.make_agent(mdp, "q_learning", seed=0, **parameters) for mdp in mdps for parameters in agents
    ]
    totals = {learner.learn(5).realised_reward[-1] for learner in learners}
    assert len(totals) == 1
    one = learners[0]
    recorded = fused.new_checkpoints(np.array([5]), one.agent)
    chunk: Any = entry(
        fused.run_chunk, one.agent, one.mdp, one.streams, new_reward_batch(one.mdp), one.run_state, recorded
    )
    assert len(chunk.dispatcher.signatures) == 1


@kernel
def _allocating(n: int) -> float:
    return float(np.zeros(n).sum())


def _calls_allocating(n: int) -> float:
    return _allocating(n)


def test_a_kernel_that_allocates_does_not_compile() -> None:
    with pytest.raises(NumbaError, match="Only accept returning of array passed"):
        entry(_calls_allocating)(3)


def test_as_much_is_allocated_for_ten_episodes_as_for_ten_thousand(tmp_path: Path) -> None:
    script = """
    import numpy as np, heavytail as ht
    from numba import njit
    from numba.core.runtime import rtsys
    learner = ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=0)
    learner.learn(10, checkpoints=10)
    def allocations(work):
        before = rtsys.get_allocation_stats().alloc
        work()
        return rtsys.get_allocation_stats().alloc - before
    allocating = njit(lambda: np.zeros(3).sum())
    allocating()
    learnt = [allocations(lambda: learner.learn(n, checkpoints=10)) for n in (10, 10_000)]
    print(learnt, allocations(allocating))
    """
    assert python(script, folder=tmp_path, NUMBA_NRT_STATS="1") == "[0, 0] 1"


class Inner(NamedTuple):
    x: Floats


def test_the_fingerprint_sees_names_values_and_order() -> None:
    def make(body: str, **names: Any) -> Any:
        scope = dict(names)
        exec(f"def f(x):\n    return {body}", scope)  # noqa: S102 - functions that differ in one thing
        return scope["f"]

    variants = [
        make("x + 1"),
        make("x + 2"),
        make("x - 1"),
        make("x + C", C=1),
        make("x + C", C=2),
        make("x + C[0]", C=np.array([1.0])),
        make("x + C[0]", C=np.array([2.0])),
        make("g(x)", g=kernel(make("x + 1"))),
        make("g(x)", g=kernel(make("x + 2"))),
        make("m.g(x)", m=np),
        make("p.m.C + x", p=_module(m=_module(C=1))),
        make("p.m.C + x", p=_module(m=_module(C=2))),
        make("x + T[0][1500]", T=(np.zeros(3000),)),
        make("x + T[0][1500]", T=(np.eye(1, 3000, 1500)[0],)),
    ]
    marks = [fingerprint(f) for f in variants]
    assert len(set(marks)) == len(variants)
    assert fingerprint(make("x + 1")) == marks[0]


def test_the_fingerprint_sees_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = fingerprint(_first)
    monkeypatch.setattr("numba.__version__", "0.0")
    compiling._compiler.cache_clear()
    assert fingerprint(_first) != mark
    monkeypatch.undo()
    compiling._compiler.cache_clear()
    assert fingerprint(_first) == mark


def _module(**names: Any) -> types.ModuleType:
    module = types.ModuleType("made_up")
    vars(module).update(names)
    return module


# Parts


@kernel
def _halved(x: float) -> float:
    return 0.5 * x


@subroutine
def _mean_of_three(values: Floats) -> float:
    total = 0.0
    for i in range(3):
        total += _halved(values[i])
    return 2.0 * total / 3.0


def _twice(values: Floats) -> float:
    return _mean_of_three(values) + _mean_of_three(values[1:])


@kernel
def _member(pair: tuple[float, tuple[int, int]], k: int) -> Any:
    return pair[k]


def _sum_of_members(x: float) -> float:
    first: float = _member((x, (1, 2)), 0)
    second: tuple[int, int] = _member((x, (1, 2)), 1)
    return first + second[0]


@kernel
def _with_a_function_inside(x: float) -> float:
    def times_x(y: float) -> float:
        return x * y

    return times_x(2.0)


def test_parts_are_compiled_into_an_entry_and_called_from_python() -> None:
    """A number in a call may decide the type that is returned; a kernel may hold a function."""
    values = np.array([1.0, 2.0, 6.0, 10.0])
    assert entry(_twice)(values) == 9.0
    assert _mean_of_three(values) == 3.0
    assert _halved(3.0) == 1.5
    assert entry(_sum_of_members)(1.5) == 2.5
    assert _with_a_function_inside(3.0) == 6.0
