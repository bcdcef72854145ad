import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heavytail as ht
from heavytail.cli import app

runner = CliRunner()


def test_the_command_prints_every_quantity_and_bound() -> None:
    done = runner.invoke(app, ["bounds", "six_arms", "--steps", "1e7", "--delta", "0.1", "--epsilon", "0.05"])
    assert done.exit_code == 0, done.output
    for word in (
        "diameter",
        "raw_moment",
        "14.2402",
        "heavy_q_bernstein",
        "theorem 6",
        "vacuous",
        "heavy tail",
        "10^114",
        "8.81e+07",
    ):
        assert word in done.output, word
    assert max(map(len, done.output.splitlines())) <= 140


def test_the_command_is_machine_readable() -> None:
    found = json.loads(
        runner.invoke(app, ["bounds", "two_state", "delta=0.2", "--steps", "1e9", "--json"]).output
    )
    assert found["quantities"]["diameter"] == pytest.approx(5.0)
    assert found["quantities"]["tail_index"] == "inf"
    tight, paper = (found["regret"]["heavy_ucrl2"][key] for key in ("tight", "paper"))
    assert tight["total"] == pytest.approx(tight["transitions"] + tight["heavy_tail"] + tight["lower_order"])
    assert tight["total"] < paper["total"]
    assert (tight["rules"], tight["vacuous"], tight["log10_crossing"]) == ("transitions", False, "inf")
    assert found["steps_needed"]["heavy_ucrl2_sample_size"]["log10_tight"] < 12
    assert found["left_out"]["ucbvi"] == "the problem is continuing"


@pytest.mark.parametrize(("name", "env"), [("b.svg", "double_chain"), ("b.png", "two_state")])
def test_the_command_draws(tmp_path: Path, name: str, env: str) -> None:
    done = runner.invoke(app, ["bounds", env, "--plot", str(tmp_path / name)])
    assert done.exit_code == 0, done.output
    if name.endswith("svg"):
        ET.parse(tmp_path / name)  # noqa: S314 - we wrote it
    else:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_bounds_of_a_file_are_those_of_its_mdp(tmp_path: Path) -> None:
    ht.make_mdp("two_state").save(tmp_path / "mine.npz")
    of_file, of_name = (
        json.loads(runner.invoke(app, ["bounds", env, "--json"]).output)
        for env in (str(tmp_path / "mine.npz"), "two_state")
    )
    assert {**of_file, "env": "two_state"} == of_name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["six_arm"], "there is no environment 'six_arm'; did you mean 'six_arms'?"),
        (["six_arms", "--epsilon", "0.2"], "it must be below 0.1"),
        (["two_state", "--epsilon", "2"], "epsilon must be above 0 and at most 1, got 2"),
        (["two_state", "--steps", "0.5"], "T must be 1 or more, got 0.5"),
        (["two_state", "--steps", "nan"], "T must be finite, got nan"),
        (["two_state", "--delta", "0"], "delta must be above 0 and below 1, got 0.0"),
        (["two_state", "--accuracy", "0"], "accuracy must be above 0, got 0.0"),
        (["two_state", "--changes", "0"], "changes must be a whole number, at least 1, got 0.0"),
        (
            ["two_state", "--plot", "a.txt"],
            "'a.txt' is not a name for a picture; it must end in .svg, .pdf or .png",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_two(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["bounds", *arguments])
    assert done.exit_code == 2
    assert done.stderr.startswith("heavytail: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_where_nothing_is_at_stake() -> None:
    done = runner.invoke(app, ["bounds", "heavy_bandit", "--json"])
    assert done.exit_code == 0, done.output
    assert math.isfinite(json.loads(done.output)["regret"]["lower_bound"]["tight"]["total"])
