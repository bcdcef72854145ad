import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heavytail.cli import app

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
        (["six_arms", "horizon"], "heavytail: 'horizon' is no parameter; write NAME=VALUE, as in horizon=10"),
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
