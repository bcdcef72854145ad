import csv
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heavytail as ht
from heavytail.cli import app
from support.processes import python

runner = CliRunner()


def test_an_agent_is_trained_drawn_and_saved(tmp_path: Path) -> None:
    """What is saved is what the same seed gives in Python."""
    out = tmp_path / "new" / "folder"
    words = ["six_arms", "law=student_t", "df=1.5", "--agent", "q_learning", "bonus_scale=0.5"]
    done = runner.invoke(app, ["learn", *words, "-n", "200", "--seed", "3", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == ["agent.npz", "curve.csv", "curve.svg"]
    mdp = ht.make_mdp("six_arms", law="student_t", df=1.5)
    learner = ht.make_agent(mdp, "q_learning", seed=3, bonus_scale=0.5)
    curve, saved = learner.learn(episodes=200), ht.Learner.load(out / "agent.npz")
    assert saved.parameters == learner.parameters
    with (out / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["realised_reward"]) for row in rows] == curve.realised_reward.tolist()
    assert float(rows[-1]["regret"]) == pytest.approx(curve.regret[-1])
    ET.parse(out / "curve.svg")  # noqa: S314 - we wrote it
    assert f"regret: {curve.regret[-1]:,.4g}" in done.output
    assert "is worth" in done.output


def test_a_gymnasium_environment_is_named_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["learn", "FrozenLake-v1", "is_slippery=False", "horizon=10", "-n", "50"])
    assert done.exit_code == 0, done.output
    path = Path("results/FrozenLake-v1-heavy_psrl")
    assert f"{path}: agent.npz, curve.csv, curve.svg" in done.output
    assert "regret" not in (path / "curve.csv").read_text()


def test_an_environment_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An MDP that was saved, or a log whose columns are named, as `show` takes them."""
    monkeypatch.chdir(tmp_path)
    mdp = ht.make_mdp("two_state", horizon=3)
    ht.changing_mdp([mdp, mdp], [10]).save("mine.npz")
    Path("log.csv").write_text("load,server,reward\nlow,a,-1\nlow,b,-2\nhigh,a,-30\nhigh,b,-4\n")
    columns = ["state=load", "action=server", "reward=reward"]
    for words in (["mine.npz"], ["log.csv", *columns]):
        done = runner.invoke(app, ["learn", *words, "-a", "random", "-n", "20"])
        assert done.exit_code == 0, done.output
        saved = ht.Learner.load(f"results/{Path(words[0]).stem}-random/agent.npz")
        assert (saved.problem.n_states, int(saved.run_state.episodes_or_steps[0])) == (2, 20)


def test_the_same_name_in_both_is_told_apart_by_a_prefix(tmp_path: Path) -> None:
    words = ["learn", "two_state", "-a", "ucrl2", "--steps", "50", "-o", str(tmp_path / "a")]
    done = runner.invoke(app, [*words, "env.delta=0.2", "agent.delta=0.1"])
    assert done.exit_code == 0, done.output
    assert ht.Learner.load(tmp_path / "a" / "agent.npz").parameters["delta"] == 0.1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["six_arm", "-n", "5"], "no environment 'six_arm', .* did you mean 'six_arms'?"),
        (["FrozenLake-v9", "-n", "5"], "no environment 'FrozenLake-v9', .* did you mean 'FrozenLake-v1'?"),
        (["mountain_car", "-n", "5"], "mountain_car is for deep agents: ht.deep.robust_dqn"),
        (
            ["six_arms", "--plugin", "none", "-n", "5"],
            "the module 'none' cannot be imported .*; it must be installed, or lie in ",
        ),
        (["x", "-n", "5"], "neither of heavytail nor of Gymnasium; `heavytail list envs` lists ours"),
        (["FrozenLake-v1", "foo=1", "-n", "5"], "Gymnasium cannot make FrozenLake-v1: TypeError"),
        (["CartPole-v1", "-n", "5"], "tabular agents need Discrete ones"),
        (["six_arms", "-a", "q_lerning", "-n", "5"], "no agent 'q_lerning'; did you mean 'q_learning'?"),
        (["six_arms"], "this environment is in episodes; say how many episodes: --episodes 10000"),
        (["two_state", "-a", "ucrl2", "-n", "5"], "this environment is continuing; .*--steps 10000"),
        (["two_state", "-a", "ucrl2", "delta=0.1"], "both two_state and ucrl2 have a parameter delta; write"),
        (["none.npz", "-n", "5"], "none.npz cannot be read: No such file"),
        (["log.csv", "-n", "5"], "log.csv is a log: say which column is the state"),
        (["six_arms", "bonus", "-n", "5"], "'bonus' is not a parameter; write NAME=VALUE"),
        (["six_arms", "-n", "5", "-o", "file/folder"], "file/folder cannot be made: Not a directory"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    done = runner.invoke(app, ["learn", *words])
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert re.search(message.replace("?", r"\?"), line), line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_agent_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "agent.npz").write_text("precious")
    done = runner.invoke(app, ["learn", "six_arms", "-n", "5", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "exists already; choose another folder with --out" in done.stderr
    assert (tmp_path / "agent.npz").read_text() == "precious"


@pytest.mark.interrupt
def test_ctrl_c_saves_what_there_is(tmp_path: Path) -> None:
    script = """
    import os, signal, threading, time
    from pathlib import Path
    from heavytail.cli import app

    def stop():
        while not Path("out").exists():
            time.sleep(0.05)
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop).start()
    try:
        app(["learn", "six_arms", "-a", "random", "-n", "1000000000", "-o", "out"])
    except SystemExit as end:
        assert end.code == 130, end.code
    """
    python(script, folder=tmp_path)
    saved = ht.Learner.load(tmp_path / "out" / "agent.npz")
    assert 0 < saved.run_state.episodes_or_steps[0] < 1_000_000_000
