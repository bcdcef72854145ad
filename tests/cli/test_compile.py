from pathlib import Path

from typer.testing import CliRunner

from heavytail.cli import app
from support.processes import python

runner = CliRunner()
AHEAD = "from heavytail.cli import app; app(['compile', 'random'])"
LATER = """
    import heavytail as ht
    agent = ht.make_online(["low", "high"], 3, "random", seed=0)
    agent.update("low", agent.act("low"), r=1.0, s_next="high")
    ht.make_agent(ht.make_mdp("six_arms"), "random", seed=0).learn(episodes=2)
"""


def test_what_was_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    def kept() -> set[Path]:
        return set((tmp_path / "kept").rglob("*.nb?"))

    printed = python(AHEAD, folder=tmp_path, HEAVYTAIL_CACHE_DIR=str(tmp_path / "kept"))
    ahead = kept()
    python(LATER, folder=tmp_path, HEAVYTAIL_CACHE_DIR=str(tmp_path / "kept"))
    assert printed.splitlines()[-1].startswith("random: ")
    assert ahead
    assert kept() == ahead


def test_an_unknown_agent_is_one_line() -> None:
    done = runner.invoke(app, ["compile", "heavy_pslr"])
    assert done.exit_code == 2
    assert done.stderr.startswith("heavytail: there is no agent 'heavy_pslr'; did you mean 'heavy_psrl'?")
