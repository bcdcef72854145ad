import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from matplotlib.text import Text
from typer.testing import CliRunner

import heavytail as ht
from heavytail.cli import app
from heavytail.mdp.diagram import draw_mdp

runner = CliRunner()


@pytest.mark.parametrize("name", ["two.svg", "two.png"])
def test_an_environment_is_drawn(tmp_path: Path, name: str) -> None:
    done = runner.invoke(
        app, ["show", "two_state", "delta=0.2", "law=student_t", "df=1.5", "--out", str(tmp_path / name)]
    )
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / name)
    if name.endswith("svg"):
        ET.parse(tmp_path / name)  # noqa: S314 - we wrote it
    else:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["six_arm"], "heavytail: there is no environment 'six_arm'; did you mean 'six_arms'?"),
        (["six_arms", "horizon"], "heavytail: 'horizon' is not a parameter; write NAME=VALUE"),
        (["six_arms", "horizon=x"], "heavytail: six_arms: horizon must be a number, got 'x'"),
        (["six_arms", "--out", "a.txt"], "heavytail: "),
        (["river_swim", "n_states=100"], "heavytail: "),
    ],
)
def test_a_mistake_is_one_line_and_status_two(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["show", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


LOG = "s,a,r,s2\nlow,x,-1,low\nlow,x,-7,low\nlow,y,-2,high\nhigh,x,-3,low\n"
COLUMNS = ["state=s", "action=a", "reward=r", "next_state=s2"]


def test_a_log_and_the_file_of_an_mdp_are_drawn_with_their_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    done = runner.invoke(app, ["show", "log.csv", *COLUMNS, "unvisited=stay"])
    assert done.output.splitlines() == [
        "LoggedMDP(2 states, 2 actions, 4 transitions, 1 of 4 cells unvisited)",
        "log.svg",
    ]
    log = ht.mdp_from_log("log.csv", state="s", action="a", reward="r", next_state="s2", unvisited="stay")
    log.save("mdp.npz")
    assert runner.invoke(app, ["show", "mdp.npz", "--out", "again.svg"]).exit_code == 0
    texts = {text.get_text() for text in draw_mdp(log).findobj(Text) if isinstance(text, Text)}
    assert {"high", "low", "a0: x", "a1: y"} <= texts
    assert any(text.startswith("empirical, 2 samples") for text in texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log.csv", "state=s", "action=a"], "log.csv is a log: say which column is the reward"),
        (["log.csv", "stat=s"], "a log has no parameter 'stat'; did you mean 'state'?"),
        (["log.csv", *COLUMNS], "the log does not show 'y' in 'high'"),
        (["log.csv", *COLUMNS[:3], "next_state=s,a"], "they must have as many columns as each other"),
        (["nowhere.npz"], "nowhere.npz cannot be read: No such file or directory"),
        (["mdp.npz", "horizon=3"], "mdp.npz is a saved MDP, so it takes no parameters, such as horizon"),
        (["changing.npz"], "changing.npz holds 2 MDPs in sequence; a picture shows one"),
    ],
)
def test_a_mistake_about_a_file_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    ht.make_mdp("two_state").save("mdp.npz")
    ht.make_mdp("changing_bandits", planned_steps=100).save("changing.npz")
    done = runner.invoke(app, ["show", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
