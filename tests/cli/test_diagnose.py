import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from heavytail.cli import app

runner = CliRunner()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two states and two actions: a heavy one, a normal one, bits, and one that is constant."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("log") / "log.csv"
    rewards = [rng.standard_t(1.2, 2000), rng.normal(size=2000), rng.integers(0, 2, 2000), np.ones(2000)]
    table = {
        "state": np.repeat([0, 0, 1, 1], 2000),
        "action": np.tile(np.repeat(["left", "right"], 2000), 2),
        "r": np.concatenate(rewards),
    }
    csv.write_csv(pa.table(table), path)
    return path


def test_rewards_of_a_file_are_diagnosed_in_words(log: Path) -> None:
    done = runner.invoke(app, ["diagnose", str(log), "--column", "r"])
    assert done.exit_code == 0, done.output
    assert "8,000 rewards; needs heavytail:" in done.output


def test_groups_are_rows_the_heaviest_first_and_others_are_left_out(log: Path) -> None:
    done = runner.invoke(app, ["diagnose", str(log), "-c", "r", "--by", "state, action"])
    assert done.exit_code == 0, done.output
    rows = [line.split()[:4] for line in done.stdout.splitlines()[2:5]]
    assert rows[0] == ["0", "left", "2000", "yes"]
    assert sorted(rows[1:]) == [["0", "right", "2000", "no"], ["1", "left", "2000", "no"]]
    assert "needs heavytail: yes 1, perhaps 0, no 2" in done.stdout
    assert done.stderr == (
        "heavytail: 1 of 4 groups left out, such as state 1, action right:"
        " all 2,000 rewards are 1: a constant has no tails, and any agent will do\n"
    )


def test_a_diagnosis_is_machine_readable(log: Path) -> None:
    done = runner.invoke(app, ["diagnose", str(log), "-c", "r", "--by", "state,action", "--json"])
    found = json.loads(done.stdout)
    assert found["groups"][0]["group"] == {"state": "0", "action": "left"}
    assert {group["need"] for group in found["groups"]} == {"yes", "no"}
    assert found["groups"][-1]["upper"]["index"] == "inf"
    assert found["left_out"][0]["group"] == {"state": "1", "action": "right"}


def test_a_diagnosis_is_drawn(log: Path, tmp_path: Path) -> None:
    picture = tmp_path / "tails.svg"
    done = runner.invoke(
        app, ["diagnose", str(log), "-c", "r", "--by", "state,action", "--figure", str(picture)]
    )
    assert done.exit_code == 0, done.output
    ET.parse(picture)  # noqa: S314 - we wrote it


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "rr"], "has no column 'rr'; its columns are"),
        (["--column", "action"], "column 'action' is 'left' in row 1; it must be numbers"),
        (["--column", "r", "--by", "stat"], "has no column 'stat'; its columns are"),
        (["--column", "r", "--by", "r"], "no group can be diagnosed, such as r"),
        (["--column", "r", "--figure", "tails.gif"], "it must end in .svg, .pdf or .png"),
    ],
)
def test_mistakes_get_one_line(log: Path, arguments: list[str], message: str) -> None:
    done = runner.invoke(app, ["diagnose", str(log), *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reward\n" + "1\n" * 100, "all 100 rewards are 1: a constant has no tails"),
        ("reward\n" + "1\n2\n" * 5, "10 rewards are too few"),
        ("", "is empty"),
        ("reward\n" + "1\n2\n" * 50 + "nan\n", "in row 101; every reward must be a finite number"),
    ],
)
def test_rewards_without_tails_get_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(text)
    done = runner.invoke(app, ["diagnose", str(tmp_path / "log.csv")])
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
