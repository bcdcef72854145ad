import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heavytail as ht
from heavytail.cli import app
from support.processes import python

runner = CliRunner()


def test_environments_are_listed_with_what_is_exactly_true_of_them() -> None:
    printed = runner.invoke(app, ["list", "envs"]).output
    assert "six_arms" in printed
    assert "40.0576" in printed
    assert "3.1611" in printed


def test_an_environment_that_needs_parameters_is_listed_without_facts(tmp_path: Path) -> None:
    """The plugin of these tests has one; a list must not fail because of it."""
    (tmp_path / "plugin.py").write_text((Path(__file__).parents[1] / "support" / "plugin.py").read_text())
    words = ["list", "envs", "--json", "--plugin", "plugin"]
    script = f"import sys; from heavytail.cli import app; sys.path.remove(''); app({words})"
    found = json.loads(python(script, folder=tmp_path))
    (row,) = (row for row in found["envs"] if row["name"] == "triangle")
    assert (row["S"], row["gain"]) == (None, None)


@pytest.mark.parametrize(
    "name", ["heavy_q_learning", "six_arms", "pareto", "truncated_mean", "median", "robust_dqn"]
)
def test_one_thing_is_explained_with_every_parameter(name: str) -> None:
    done = runner.invoke(app, ["list", name])
    assert done.exit_code == 0, done.output
    description = ht.describe(name)
    assert done.output.startswith(f"{description.title}\n\n")
    words = " ".join(done.output.split())
    for parameter in description.parameters:
        assert parameter.text.split()[0] in words
        assert (parameter.default or "required") in words


def test_an_explanation_is_machine_readable() -> None:
    found = json.loads(runner.invoke(app, ["list", "pareto", "--json"]).output)
    (law,) = found
    assert (law["kind"], law["parameters"][0]["name"]) == ("law", "alpha")
    both = json.loads(runner.invoke(app, ["list", "heavy_ucrl2", "--json"]).output)
    assert [each["kind"] for each in both] == ["agent", "bound"]


@pytest.mark.parametrize(
    ("name", "meant"), [("six_arm", "six_arms"), ("agnets", "agents"), ("heavy_dq", "heavy_dqn")]
)
def test_an_unknown_name_is_one_line(name: str, meant: str) -> None:
    done = runner.invoke(app, ["list", name])
    assert (done.exit_code, done.stderr) == (
        2,
        f"heavytail: nothing is registered as '{name}'; did you mean '{meant}'?\n",
    )


def test_lists_are_machine_readable() -> None:
    found = json.loads(runner.invoke(app, ["list", "--json"]).output)
    assert set(found) == {"agents", "envs", "estimators", "laws", "deep"}
    agents, envs = ["heavy_dqn", "qr_dqn", "robust_dqn"], ["acrobot", "cart_pole", "mountain_car", "pendulum"]
    assert [row["name"] for row in found["deep"]] == [*agents, *envs]
    chain = next(row for row in found["envs"] if row["name"] == "double_chain")
    assert (chain["S"], chain["A"], chain["H"]) == (8, 2, 10)
    assert chain["parameters"] == ["length", "p", "symmetric", "head", "law", "horizon"]
    assert {row["name"] for row in found["agents"]} >= {"q_learning", "random"}
