import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import heavytail as ht
from heavytail import InputError, registry
from heavytail.bounds import (
    Bound,
    CatalogueEntry,
    bounds_of,
    draw_bounds,
    heavy_q_learning_regret,
    heavy_ucrl2_regret,
    quantities_of,
)
from heavytail.bounds.bound import bound_at
from heavytail.bounds.catalogue import registered_bounds
from heavytail.bounds.terms import Statement, Term, log
from heavytail.cli import app
from heavytail.studies.bound_lines import bound_lines
from heavytail.studies.specs.envs import EnvSpec

runner = CliRunner()


def test_what_is_true_of_six_arms() -> None:
    q = quantities_of(ht.make_mdp("six_arms"), 0.05)
    assert (q.S, q.A, q.H, q.r_min, q.r_max) == (7, 6, 25, 0.0, 2.0)
    assert q.value == pytest.approx(40.0576, abs=1e-4)
    assert [q.gain, q.diameter, q.span, q.gap] == pytest.approx([2.0, 6.0, 12.0, 0.2])
    assert [q.raw_moment, q.central_moment] == pytest.approx([14.2402, 13.26256], abs=1e-4)
    assert q.tail_index == 1.1


def test_bounds_of_an_mdp_are_those_of_its_quantities() -> None:
    T = np.array([1e5, 1e9])
    found = bounds_of(ht.make_mdp("double_chain"), T, 0.01)
    q = found.quantities
    assert q.diameter
    own = heavy_ucrl2_regret(
        T, S=8, A=2, diameter=q.diameter, reward_range=1.1, moment=q.raw_moment, epsilon=0.05, delta=0.01
    )
    np.testing.assert_allclose(found.regret["heavy_ucrl2"].total, own.total)
    own = heavy_q_learning_regret(
        T, S=8, A=2, H=10, r_max=1.1, moment=q.raw_moment, epsilon=q.epsilon, delta=0.01
    )
    np.testing.assert_allclose(found.regret["heavy_q_hoeffding"].total, own.total)
    assert not found.left_out
    assert len(found.regret) == 11


def test_what_does_not_apply_is_left_out_and_said() -> None:
    continuing = bounds_of(ht.make_mdp("two_state"), 1e6)
    assert continuing.left_out["ucbvi"] == "the problem is continuing"
    cut = bounds_of(ht.make_mdp("deep_sea"), 1e6)
    assert "infinite" in cut.left_out["heavy_ucrl2"]
    assert cut.quantities.gap is None
    staged = bounds_of(ht.make_mdp("heavy_chain"), 1e6)
    assert staged.left_out["ucrl2"] == "there is no long run"
    assert "heavy_q_hoeffding" in staged.regret
    same = bounds_of(ht.mdp_from_arrays([[[1.0], [1.0]]], [[2.0, 2.0]]), 1e6)
    assert same.left_out["heavy_ucrl2_expected"] == "all policies are optimal"
    assert same.regret["heavy_ucrl2"].vacuous


def test_epsilon_must_leave_a_moment() -> None:
    with pytest.raises(InputError, match=r"no moment of order 1\.5; it must be below 0\.1$"):
        bounds_of(ht.make_mdp("six_arms"), 1e6, epsilon=0.5)
    assert quantities_of(ht.make_mdp("two_state", law="student_t", df=1.5)).epsilon == pytest.approx(0.25)
    assert quantities_of(ht.make_mdp("river_swim")).epsilon == 1.0


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
        (["two_state", "--plot", "a.txt"], "'a.txt' is no name for a picture; it must end in .svg or .png"),
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
    assert registered_bounds()["changing"].theorem == "theorem 3"


def trivial_regret(T: float, *, reward_range: float, span: float) -> Bound:
    return bound_at(Statement((Term(log(0.5 * span * reward_range), 1.0),)), log(T), reward_range)


def needs_too_much(T: float, *, colour: str) -> Bound:
    raise NotImplementedError


def test_a_bound_from_outside_is_computed_drawn_and_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One registration: `bounds_of`, the plot, the command's table and the lines of studies show it."""
    monkeypatch.setattr(registry, "_table", dict(registry._table))

    @registry.register("bound", "made_up")
    def made_up() -> CatalogueEntry:
        return CatalogueEntry(
            trivial_regret, "nobody's theorem", panel="in the long run", label="made up in a test"
        )

    mdp = ht.make_mdp("two_state")
    q = quantities_of(mdp)
    assert q.span
    own = bounds_of(mdp, 1e6)
    assert own.regret["made_up"].total == pytest.approx(0.5 * q.span * (q.r_max - q.r_min) * 1e6)
    assert list(own.regret)[-1] == "made_up"
    assert "made_up" not in own.left_out
    labels = [text.get_text() for text in draw_bounds(q, 1e6).axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert "made up in a test" in labels
    printed = runner.invoke(app, ["bounds", "two_state"]).output
    assert "made_up" in printed
    assert "nobody's theorem" in printed
    env = EnvSpec.model_validate({"env": "two_state", "steps": 10, "bounds": {"shown": ["made_up"]}})
    (line,) = bound_lines(env, np.array([1e3, 1e6]))
    assert line.label == "bound of made up in a test"
    staged = bounds_of(ht.make_mdp("heavy_chain"), 1e6)
    assert staged.left_out["made_up"] == "span is not known"


def test_a_bound_that_needs_what_there_is_not_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_table", dict(registry._table))
    registry.register("bound", "odd")(lambda: CatalogueEntry(needs_too_much, "none", panel="odd"))
    with pytest.raises(
        InputError, match=r"^the bound 'odd' needs 'colour'; bounds are given A, H, S, T, acc"
    ):
        bounds_of(ht.make_mdp("two_state"), 1e6)
