from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

import heavytail as ht
from heavytail.cli import app
from heavytail.cli.app import ORDER, OrderedGroup, print_table
from support.processes import python

runner = CliRunner()


def test_help_lists_commands_in_the_order_of_work() -> None:
    """Studies first; a command that `ORDER` does not know comes last."""
    group = OrderedGroup(name="heavytail", commands=dict(get_group(app).commands))
    names = group.list_commands(None)
    assert names == list(ORDER)
    group.commands = {"another": group.commands["run"], **group.commands}
    assert group.list_commands(None) == [*names, "another"]
    printed = runner.invoke(app, ["--help"]).output
    positions = [printed.index(f" {name} ") for name in names]
    assert positions == sorted(positions)


def test_every_command_has_a_help_text() -> None:
    for command in app.registered_commands:
        assert command.callback
        name = command.name or command.callback.__name__
        done = runner.invoke(app, [name, "--help"])
        assert done.exit_code == 0, name
        assert (command.callback.__doc__ or "").splitlines()[0].endswith((".", ")."))


def test_the_version_is_printed() -> None:
    done = runner.invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"heavytail {ht.__version__}\n")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_start_quickly(option: str, tmp_path: Path) -> None:
    """Nothing heavy is imported for them. (NumPy is, by Gymnasium, which must know the ids.)"""
    script = f"""
    import sys
    from heavytail.cli import app
    try:
        app(["{option}"])
    except SystemExit as end:
        assert end.code == 0
    heavy = ("numba", "scipy", "jax", "pandas", "matplotlib", "pydantic", "pyarrow")
    print([name for name in heavy if name in sys.modules])
    """
    assert python(script, folder=tmp_path).splitlines()[-1] == "[]"


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    script = """
    import runpy, sys
    sys.argv = ["heavytail", "--version"]
    try:
        runpy.run_module("heavytail", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert end.code == 0
    """
    assert python(script, folder=tmp_path) == f"heavytail {ht.__version__}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["diagnos"], "no such command 'diagnos'. Did you mean 'diagnose'?"),
        (["--versoin"], "no such option: --versoin (Possible options: --version); see: heavytail --help"),
        (["run"], "missing argument 'spec'; see: heavytail run --help"),
        (["learn", "six_arms", "--episodes", "0"], "invalid value for '--episodes' / '-n': "),
        (
            ["learn", "six_arms", "-n", "3", "--agnt", "x"],
            "no such option: --agnt (Possible options: --agent",
        ),
        (["run", "no\nspec.toml", "--quick", "b"], "got unexpected extra argument"),
    ],
)
def test_words_that_a_command_does_not_know_are_one_line(words: list[str], message: str) -> None:
    done = runner.invoke(app, words, prog_name="heavytail")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"heavytail: {message}")


@pytest.mark.parametrize("words", [["-h"], ["--help"], []], ids=" ".join)
def test_help_is_shown_when_asked_for_and_where_there_is_no_word(words: list[str]) -> None:
    assert "Reinforcement learning when rewards have heavy tails." in runner.invoke(app, words).output
    assert "--workers" in runner.invoke(app, ["run", "-h"]).output


def test_tables_show_words_from_outside_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("[/title]", [{"name": "[/x]\x1b[0m", "number": 1.5}])
    heading, _, row = capsys.readouterr().out.splitlines()[:3]
    assert heading.strip() == "[/title]"
    assert row.split() == [r"[/x]\x1b[0m", "1.5"]


@pytest.mark.parametrize(
    "words",
    [
        ["show", "two_state", f"delta={'1' * 5000}"],
        ["show", "two_state", f"delta={'[' * 100_000}"],
        ["status", "x" * 5000],
        ["status", "a", f"--{'x' * 5000}"],
        ["bounds", "six_arms", "horizon=1e11"],
        ["show", "heavy_bandit", "epsilon=1e-6"],
        ["show", "garnet", "n_states=1e9"],
    ],
    ids=["digits", "brackets", "path", "option", "horizon", "epsilon", "states"],
)
def test_what_no_command_can_use_is_one_line(words: list[str]) -> None:
    done = runner.invoke(app, words)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("heavytail: ")
    assert len(line) < 1100
