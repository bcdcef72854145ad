import json
import os
import signal
import textwrap
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.agent_file import FORMAT, METADATA, AgentFile, read_agent_file, write_agent_file
from heavytail.errors import InputError
from heavytail.registry import registered
from heavytail.training.curve import place_checkpoints
from support import mdps
from support.examples import examples
from support.processes import PATIENCE, python, running


@pytest.fixture
def learner() -> ht.Learner:
    return ht.make_agent(mdps.mixed(), "q_learning", seed=0)


def test_learning_in_two_parts_equals_learning_at_once(learner: ht.Learner) -> None:
    twin = ht.make_agent(mdps.mixed(), "q_learning", seed=0)
    learner.learn(30)
    parts = learner.learn(70)
    whole = twin.learn(100)
    assert parts.realised_reward[-1] == whole.realised_reward[-1]
    assert parts.episodes[-1] == whole.episodes[-1] == 100
    np.testing.assert_array_equal(learner.agent.q, twin.agent.q)


def test_learn_wants_the_unit_of_its_problem(learner: ht.Learner) -> None:
    continuing = ht.make_agent(mdps.mixed(None), "random", seed=0)
    for call, message in (
        (learner.learn, "learn: this is in episodes, so say episodes=; got episodes=None, steps=None"),
        (lambda: learner.learn(steps=5), "learn: this is in episodes, so say episodes="),
        (lambda: continuing.learn(5), "learn: this is a continuing problem, so say steps="),
        (lambda: learner.learn(0), "learn: episodes must be at least 1, got 0"),
        (lambda: learner.learn(2.5), "learn: episodes must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: learner.learn(5, checkpoints=0), "checkpoints is 0; it must be at least 1"),
        (
            lambda: learner.learn(5, checkpoints=[3, 2]),
            "checkpoints must be a count, or ascending whole numbers between 1 and 5",
        ),
        (
            lambda: learner.learn(5, checkpoints=[6]),
            "checkpoints must be a count, or ascending whole numbers between 1 and 5",
        ),
        (lambda: learner.learn(5, spacing="odd"), "spacing is 'odd'; it must be 'even' or 'log'"),  # type: ignore[arg-type]
        (lambda: learner.predict(3), "there is no state 3; states are whole numbers from 0 to 2"),
        (lambda: learner.predict(1.5), "there is no state 1.5; states are whole numbers from 0 to 2"),  # type: ignore[arg-type]
        (lambda: learner.learn("x"), "learn: episodes must be a number, got 'x'"),  # type: ignore[arg-type]
        (lambda: learner.learn(5, checkpoints=[1.5]), "checkpoints must be a count"),  # type: ignore[list-item]
        (lambda: learner.predict(0, 4), "there is no step 4; steps are whole numbers from 0 to 3"),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value).startswith(message)
    assert learner.run_state.steps[0] == 0


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 300), st.sampled_from(["even", "log"]))
def test_checkpoints_ascend_and_end_at_the_end(first: int, n: int, count: int, spacing: Any) -> None:
    at = place_checkpoints(first, first + n, count, spacing)
    assert (np.diff(at) > 0).all()
    assert first < at[0]
    assert at[-1] == first + n
    assert len(at) <= count


def test_a_curve_knows_its_unit_and_becomes_a_frame(learner: ht.Learner) -> None:
    curve = learner.learn(10, checkpoints=5)
    frame = curve.to_frame()
    assert list(frame.columns) == ["episodes", "mean_reward", "realised_reward", "cells_visited"]
    assert frame["episodes"].tolist() == [2, 4, 6, 8, 10]
    assert 0 < frame["cells_visited"].iloc[-1] == (learner.agent.visits > 0).sum()
    with pytest.raises(InputError, match="this curve counts episodes, not steps"):
        curve.steps  # noqa: B018 - the look-up is the test


def test_running_past_the_plan_warns_once() -> None:
    learner = ht.make_agent(mdps.mixed(), "q_learning", planned_steps=100, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn(25)
    with pytest.warns(UserWarning, match="built for planned_steps=100 and is about to make up to 104"):
        learner.learn(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn(1)


def test_a_progress_bar_shows_speed_and_total(
    learner: ht.Learner, capsys: pytest.CaptureFixture[str]
) -> None:
    learner.learn(2000, progress=True)
    shown = capsys.readouterr().out
    assert "2,000/2,000 episodes" in shown
    assert "steps/s" in shown


INTERRUPTED = """
    import os, signal, threading, time, heavytail as ht
    mdp = ht.make_mdp("six_arms")
    learner = ht.make_agent(mdp, "q_learning", seed=0, planned_steps=10**12)
    learner.learn(1)  # compile first: what is to be interrupted is the loop

    def interrupt_at_work():
        while learner.run_state.episodes_or_steps[0] < 12:  # behind the first checkpoint
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt_at_work, daemon=True).start()
    try:
        learner.learn(LENGTH, checkpoints=[10, LENGTH])
    except KeyboardInterrupt:
        done = int(learner.run_state.episodes_or_steps[0])
        state = learner.run_state
        assert state.steps[0] == 25 * done + state.h[0] * state.in_episode[0]
        learner.save("interrupted.npz")
        print(done, len(learner.curve.at))
"""


@pytest.mark.interrupt
@pytest.mark.parametrize("mode", ["0", "1"])
def test_ctrl_c_loses_nothing(tmp_path: Path, mode: str) -> None:
    """Compiled and as plain Python: after an interruption the run goes on as if there had been none."""
    length = str(10**8)
    printed = python(INTERRUPTED.replace("LENGTH", length), folder=tmp_path, NUMBA_DISABLE_JIT=mode)
    done, recorded = map(int, printed.split())
    assert recorded == 1
    interrupted = ht.Learner.load(tmp_path / "interrupted.npz")
    whole = ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=0, planned_steps=10**12)
    interrupted.learn(5)
    whole.learn(done + 5)
    np.testing.assert_array_equal(interrupted.agent.q, whole.agent.q)
    np.testing.assert_array_equal(interrupted.run_state.totals, whole.run_state.totals)


@pytest.mark.interrupt
def test_ctrl_c_from_a_terminal_ends_the_program(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import heavytail as ht
        learner = ht.make_agent(ht.make_mdp("six_arms"), "q_learning", planned_steps=10**12, seed=0)
        learner.learn(1)
        print("ready", flush=True)
        learner.learn(10**9)
    """)
    with running("-c", script, cwd=tmp_path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in errors
    assert child.returncode == -signal.SIGINT


# Agent files


def test_a_file_holds_everything_and_no_pickle(learner: ht.Learner, tmp_path: Path) -> None:
    learner.learn(10)
    learner.save(tmp_path / "agent")
    assert [p.name for p in tmp_path.iterdir()] == ["agent"]
    metadata, arrays = read_agent_file(tmp_path / "agent")
    assert metadata["agent"] == "q_learning"
    assert metadata["parameters"]["planned_steps"] == 10_000_000
    assert {path.split("/")[0] for path in arrays} == {"agent", "mdp0", "streams", "run_state"}
    assert not any(array.dtype.hasobject for array in arrays.values())


def test_loading_does_not_need_the_environment_again(learner: ht.Learner, tmp_path: Path) -> None:
    learner.learn(10)
    learner.save(tmp_path / "agent.npz")
    loaded = ht.Learner.load(tmp_path / "agent.npz")
    assert repr(loaded) == repr(learner)
    assert loaded.parameters == learner.parameters
    assert loaded.predict(1, 2) == learner.predict(1, 2)
    for left, right in zip(loaded.mdp, learner.mdp, strict=True):
        np.testing.assert_equal(left, right)


def test_a_failed_save_leaves_the_old_file(
    learner: ht.Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.npz"
    learner.save(path)
    before = path.read_bytes()
    learner.learn(5)

    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match=r"agent\.npz cannot be written: No space left on device"):
        learner.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["agent.npz"]


def test_a_folder_that_is_not_there_is_named(learner: ht.Learner, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        learner.save(tmp_path / "missing" / "agent.npz")
    with pytest.raises(InputError, match=r"nothing\.npz cannot be read: No such file"):
        ht.Learner.load(tmp_path / "nothing.npz")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        ht.Learner.load(tmp_path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "agent.npz"
    ht.make_agent(mdps.mixed(), "q_learning", seed=0).save(path)
    return path.read_bytes()


def _load(data: bytes, folder: Path) -> ht.Learner:
    path = folder / "agent.npz"
    path.write_bytes(data)
    return ht.Learner.load(path)


@given(data=st.data())
@examples(150)
def test_a_truncated_file_is_one_line(
    saved: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    length = data.draw(st.integers(0, len(saved) - 1))
    with pytest.raises(InputError) as caught:
        _load(saved[:length], tmp_path_factory.getbasetemp())
    assert "\n" not in str(caught.value)


@given(data=st.data())
@examples(300)
def test_an_altered_file_is_one_line_or_the_same_agent(
    saved: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Some bytes of a zip file mean nothing (dates, attributes): then what is loaded is what was saved."""
    at, value = data.draw(st.integers(0, len(saved) - 1)), data.draw(st.integers(1, 255))
    altered = bytearray(saved)
    altered[at] ^= value
    try:
        loaded = _load(bytes(altered), tmp_path_factory.getbasetemp())
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
        return
    original = _load(saved, tmp_path_factory.getbasetemp())
    for left, right in zip(loaded.agent, original.agent, strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(loaded.streams.transitions, original.streams.transitions)


def _zip_of_a_text(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b""), "is not a valid agent file"),
        (lambda path: path.write_bytes(b"hello"), "is not a valid agent file: File is not a zip"),
        (lambda path: path.write_bytes(b"\x80\x04K\x01."), "is not a valid agent file"),
        (lambda path: np.savez(path, x=np.zeros(3)), "is not a heavytail agent file"),
        (
            lambda path: np.savez(path, x=np.array([{}], dtype=object)),
            "is not a valid agent file: Object arrays cannot be loaded",
        ),
        (_zip_of_a_text, "is not a valid agent file"),
    ],
)
def test_a_foreign_file_is_one_line(write: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    write(tmp_path / "other.npz")
    with pytest.raises(InputError, match=message):
        ht.Learner.load(tmp_path / "other.npz")


def _rewrite(path: Path, metadata: dict[str, Any] | None = None, **arrays: Any) -> None:
    """Change the contents of a saved file, with valid checksums."""
    file = read_agent_file(path)
    write_agent_file(
        path,
        AgentFile(
            {**file.metadata, **(metadata or {})},
            {**file.arrays, **{k.replace("__", "/"): v for k, v in arrays.items()}},
        ),
    )


@pytest.mark.parametrize(
    ("metadata", "arrays", "message"),
    [
        (
            {"agent": "q_lerning"},
            {},
            r"cannot be used: there is no agent 'q_lerning'; did you mean 'q_learning'\?",
        ),
        ({"parameters": {"delta": 2}}, {}, "cannot be used: q_learning: delta must be below 1"),
        ({"parameters": None}, {}, "cannot be used"),
        (
            {},
            {"agent__q": np.zeros((1, 1, 1))},
            r"cannot be used: agent/q is float64\[1, 1, 1\] where float64\[4, 3, 2\] is expected",
        ),
        (
            {},
            {"agent__visits": np.zeros((4, 3, 2))},
            r"cannot be used: agent/visits is float64\[4, 3, 2\] where int64\[4, 3, 2\] is expected",
        ),
        (
            {},
            {"mdp0__successors": np.full(17, 9, np.uint32)},
            "cannot be used: the arrays of this MDP do not fit together",
        ),
        (
            {},
            {"run_state__state": np.array([3], np.uint32)},
            "cannot be used: its run state does not fit its environment",
        ),
    ],
)
def test_an_inconsistent_file_is_one_line(
    saved: bytes, tmp_path: Path, metadata: dict[str, Any], arrays: dict[str, Any], message: str
) -> None:
    path = tmp_path / "agent.npz"
    path.write_bytes(saved)
    _rewrite(path, metadata, **arrays)
    with pytest.raises(InputError, match=message) as caught:
        ht.Learner.load(path)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_format_says_so(saved: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    path.write_bytes(saved)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for text, message in (
        *(
            (
                json.dumps({"format": other}),
                f"agent.npz has format {other}, .* reads format {FORMAT}; load it",
            )
            for other in (FORMAT - 1, FORMAT + 1)
        ),
        ("{", "is damaged"),
        ("[]", "is damaged"),
    ):
        np.savez(path, **{**arrays, METADATA: np.frombuffer(text.encode(), np.uint8)})
        with pytest.raises(InputError, match=message) as caught:
            ht.Learner.load(path)
        assert "\n" not in str(caught.value)


def test_without_a_seed_each_run_is_its_own() -> None:
    """And with one it is that of the seed; a simulator of Gymnasium takes a drawn one, too."""
    mdp = mdps.mixed()
    runs = [ht.make_agent(mdp, "random", seed=seed).learn(50) for seed in (None, None, 1, 1)]
    totals = [float(run.realised_reward[-1]) for run in runs]
    assert len(set(totals)) == 3
    assert totals[2] == totals[3]
    ht.make_agent(gymnasium.make("FrozenLake-v1"), "random").learn(1)
    agents = [ht.make_online(1, 1000, "random", seed=seed) for seed in (None, None, 1, 1)]
    actions = [[agent.act(0) for _ in range(5)] for agent in agents]
    assert actions[0] != actions[1]
    assert actions[2] == actions[3]


def test_no_agent_has_a_parameter_that_its_maker_takes() -> None:
    taken = {"env", "name", "states", "actions", "seed", "horizon"}
    assert not any(taken & entry.parameters.keys() for entry in registered("agent"))


@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
def test_a_bad_seed_is_one_line(seed: Any) -> None:
    for call in (
        lambda: ht.make_agent(mdps.mixed(), "random", seed=seed),
        lambda: ht.laws.normal().sample(1, seed=seed),
    ):
        with pytest.raises(InputError, match="it must be a whole number, at least 0"):
            call()


@pytest.mark.interrupt
def test_an_ignored_ctrl_c_stays_ignored(tmp_path: Path) -> None:
    script = """
    import os, signal, threading, heavytail as ht
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    learner = ht.make_agent(ht.make_mdp("six_arms"), "random", seed=0)
    learner.learn(1)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    learner.learn(1_000_000)
    print(int(learner.run_state.episodes_or_steps[0]))
    """
    assert python(script, folder=tmp_path) == "1000001"
