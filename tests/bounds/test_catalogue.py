import numpy as np
import pytest
from typer.testing import CliRunner

import heavytail as ht
from heavytail import InputError
from heavytail.bounds import Bound, bounds_of, compute_bound, draw_bounds, quantities_of
from heavytail.bounds.bound import Statement, Term, bound_at, log
from heavytail.bounds.catalogue import theorem, theorems
from heavytail.bounds.quantities import Case
from heavytail.cli import app
from heavytail.studies.families import bound_lines
from heavytail.studies.specs.spec import EnvSpec
from support.registry_copy import copy_registry

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
    own = compute_bound(
        "heavy_ucrl2",
        T,
        S=8,
        A=2,
        diameter=q.diameter,
        r_max=1.1,
        raw_moment=q.raw_moment,
        epsilon=0.05,
        delta=0.01,
    )
    np.testing.assert_allclose(found.regret["heavy_ucrl2"].total, own.total)
    own = compute_bound(
        "heavy_q_hoeffding",
        T,
        S=8,
        A=2,
        H=10,
        r_max=1.1,
        raw_moment=q.raw_moment,
        epsilon=q.epsilon,
        delta=0.01,
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


def test_bounds_say_where_they_are_stated() -> None:
    entries = theorems()
    assert entries["changing"].where == "theorem 3"
    assert len(entries) == 15
    assert all(entry.label for entry in entries.values() if entry.panel)


def made_up(case: Case) -> Bound:
    return bound_at(Statement((Term(log(0.5 * case.span * case.reward_range), 1.0),)), case)


def test_a_bound_from_outside_is_computed_drawn_and_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One registration: `bounds_of`, the plot, the command's table and the lines of studies show it."""
    copy_registry(monkeypatch)

    theorem("nobody's theorem", ("span", "r_max"), panel="in the long run", label="made up in a test")(
        made_up
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
    copy_registry(monkeypatch)
    theorem("none", ("colour",))(made_up)
    with pytest.raises(
        InputError, match=r"^the bound 'made_up' needs 'colour'; bounds are given A, H, S, T, acc"
    ):
        bounds_of(ht.make_mdp("two_state"), 1e6)
