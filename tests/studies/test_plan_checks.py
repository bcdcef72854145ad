"""The size of a plan is counted before it is made, and what cannot fit is one line."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.errors import InputError, show_bytes
from heavytail.studies import Study, plan_checks
from heavytail.studies.plan import unique_parts
from heavytail.studies.plan_checks import PhaseSize, plan_sizes
from heavytail.studies.specs.reading import make_spec
from support.small_studies import done, small

SWEEP = {"axes": {"transition_scale": [0.01, 0.1, 1.0], "r_max": [1.0, 2.0]}, "seeds": 5}


def test_it_counts_what_the_plan_makes(tmp_path: Path) -> None:
    raw = small(maps={"q_learning": SWEEP})
    study = done(raw, tmp_path)
    cells = {"tuning": study.tuning_cells, "evaluation": study.evaluation_cells, "map": study.sweeps}
    sizes = plan_sizes(study.spec)
    assert [size.phase for size in sizes] == list(cells)
    for size in sizes:
        parts = unique_parts(cells[size.phase])  # type: ignore[arg-type]
        assert size.runs == sum(len(part.replicates) for part in parts)
        assert size.steps == sum(part.steps * len(part.replicates) for part in parts)


def test_a_study_without_a_phase_has_no_size_of_it() -> None:
    sizes = plan_sizes(make_spec(small(agents={"random": {}})))
    assert [size.phase for size in sizes] == ["evaluation"]


MANY = list(range(1, 1001))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {
                "agents": {"q_learning": {"grid": {"transition_scale": MANY[:100], "r_max": MANY[:100]}}},
                "tuning": {"seeds": 100_000},
            },
            "the tuning would be 2,000,000,000 runs",
        ),
        (
            {"maps": {"q_learning": {"seeds": 100_000, "axes": {"transition_scale": MANY, "r_max": MANY}}}},
            "the map would be 200,000,000,000 runs",
        ),
        (
            {"seeds": 100_000, "checkpoints": 100_000, "episodes": 100_000},
            "the evaluation would be 400,000 runs, which take 40 TB of memory to plan and to report",
        ),
    ],
    ids=["grid", "map", "checkpoints"],
)
def test_what_cannot_fit_is_one_line_with_the_numbers(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    study = Study(small(**changes), tmp_path / "study")
    for use in (lambda: study.run("inline"), study.stages, study.check):
        with pytest.raises(InputError) as caught:
            use()
        assert str(caught.value).startswith(f"spec: {said}")
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "study").exists()


def test_what_fits_depends_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(small())
    need = max(size.memory for size in plan_sizes(spec))
    monkeypatch.setattr(plan_checks, "max_memory", lambda: need)
    plan_sizes(spec)
    monkeypatch.setattr(plan_checks, "max_memory", lambda: need - 1)
    with pytest.raises(InputError, match=f"; there are {re.escape(show_bytes(need - 1))}; use fewer"):
        plan_sizes(spec)


def test_what_is_merely_long_says_how_long() -> None:
    (size,) = plan_sizes(make_spec(small(agents={"random": {}}, episodes=2**53)))
    assert str(size).endswith("years on one core")
    assert str(PhaseSize("map", 12_345, 10**9, 10**9, 3600.0)) == (
        "map: 12,345 runs, 1e+09 steps, 1 GB of memory, about 1 h 0 min on one core"
    )


def test_listeners_are_told_before_anything_begins(tmp_path: Path) -> None:
    told: list[Any] = []

    def hear(event: dict[str, Any]) -> None:
        if event["event"] == "plan":
            told.append([(size["phase"], size["runs"]) for size in event["phases"]])
            assert not (tmp_path / "study").exists()

    Study(small(agents={"random": {}}), tmp_path / "study").run("inline", listener=hear)
    assert told == [[("evaluation", 6)]]


def test_a_dry_run_checks_and_counts_and_computes_nothing(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text('name = "dry"\nepisodes = 10\n[envs.six_arms]\n[agents.random]\n')
    command = ["run", str(spec), "--dry-run", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code == 0
    assert ran.stdout.startswith("evaluation: 10 runs, 2.5e+03 steps, ")
    assert '"runs": 10' in CliRunner().invoke(app, [*command, "--json"]).stdout
    spec.write_text(spec.read_text() + "[agents.q_learning]\nparameters = {transition_scale = -1}\n")
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert "transition_scale must be" in refused.stderr
    assert not (tmp_path / "out").exists()


def test_small_networks_take_less_time() -> None:
    agents = {
        "wide": {"agent": "heavy_dqn"},
        "narrow": {"agent": "heavy_dqn", "parameters": {"hidden": [64, 64]}},
    }
    wide, narrow = (
        plan_sizes(
            make_spec(
                {"name": name, "steps": 1000, "seeds": 1, "envs": {"cart_pole": {}}, "agents": {name: agent}}
            )
        )
        for name, agent in agents.items()
    )
    assert wide[0].seconds > 20 * narrow[0].seconds
