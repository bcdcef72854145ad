import json
from pathlib import Path

from typer.testing import CliRunner

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
    script = "import plugin; from heavytail.cli import app; app(['list', 'envs', '--json'])"
    found = json.loads(python(script, folder=tmp_path))
    (row,) = (row for row in found["envs"] if row["name"] == "triangle")
    assert (row["S"], row["gain"]) == (None, None)


def test_lists_are_machine_readable() -> None:
    found = json.loads(runner.invoke(app, ["list", "--json"]).output)
    assert set(found) == {"agents", "envs", "estimators", "laws", "deep"}
    agents, envs = ["heavy_dqn", "qr_dqn", "robust_dqn"], ["acrobot", "cart_pole", "mountain_car", "pendulum"]
    assert [row["name"] for row in found["deep"]] == [*agents, *envs]
    chain = next(row for row in found["envs"] if row["name"] == "double_chain")
    assert (chain["S"], chain["A"], chain["H"]) == (8, 2, 10)
    assert chain["parameters"] == ["length", "p", "symmetric", "head", "law", "horizon"]
    assert {row["name"] for row in found["agents"]} >= {"q_learning", "random"}
