"""Families of environments, bounds beside what agents did, and MDPs that change.

From the spec to the page.
"""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.bounds import bounds_of, compute_bound
from heavytail.errors import InputError
from heavytail.report.report_data import collect_report_data
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.families import bound_lines, check_bounds, lines_across, make_families
from heavytail.studies.plan import evaluation_cells
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.specs.checks import list_differences, result_relevant
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import BoundsSpec, EnvSpec
from heavytail.studies.study import Study
from support.page_reader import read

LENGTHS = [400, 2000, 10_000]
RAW: dict[str, Any] = {
    "name": "growing",
    "seeds": 3,
    "checkpoints": 20,
    "spacing": "log",
    "envs": {
        "plain": {
            "env": "two_state",
            "steps": 3000,
            "seeds": 4,
            "bounds": {"shown": ["heavy_ucrl2", "lower_bound"], "epsilon": 1.0},
        }
    },
    "families": {
        "hard": {
            "env": "heavy_bandit",
            "label": "Hard instances",
            "parameters": {"epsilon": 0.5},
            "vary": {"steps": LENGTHS, "planned_steps": LENGTHS},
            "over_gap": True,
            "bounds": {"shown": ["lower_bound"], "epsilon": 0.5},
        },
        "moving": {"env": "changing_bandits", "vary": {"planned_steps": [500, 1000]}, "steps": 1000},
    },
    "agents": {
        "random": {},
        "heavy": {
            "agent": "heavy_ucrl2",
            "parameters": {"epsilon": 0.5, "moment": "true"},
            "envs": ["plain", "hard"],
        },
        "again": {
            "agent": "restarting",
            "parameters": {"agent": "ucrl2", "epsilon": 1.0, "changes": "true"},
            "envs": ["moving"],
        },
    },
    "claims": [
        {
            "claim": "No agent does better than the lower bound at every length.",
            "conditions": [
                {
                    "test": "at_least",
                    "agent": "random",
                    "envs": ["hard"],
                    "metric": "final_regret",
                    "of": "lower_bound",
                },
                {
                    "test": "at_most",
                    "agent": "heavy",
                    "envs": ["hard.last"],
                    "metric": "final_regret",
                    "value": 1.0,
                },
                {
                    "test": "rate_at_most",
                    "agent": "heavy",
                    "envs": ["plain"],
                    "metric": "counter",
                    "counter": "truncated",
                    "value": 1.0,
                },
            ],
        }
    ],
}


# Spec and plan


def test_members_are_environments_and_stand_for_their_family() -> None:
    spec = make_spec(RAW)
    assert list(spec.envs) == ["plain", "hard.400", "hard.2000", "hard.10000", "moving.500", "moving.1000"]
    assert spec.agents["heavy"].envs == ["plain", "hard.400", "hard.2000", "hard.10000"]
    assert spec.claims[0].conditions[0].envs == ["hard.400", "hard.2000", "hard.10000"]
    assert spec.claims[0].conditions[1].envs == ["hard.10000"]
    member = spec.envs["hard.2000"]
    assert (member.env, member.steps, member.at, member.family) == ("heavy_bandit", 2000, 2000.0, "hard")
    assert member.parameters == {"epsilon": 0.5, "planned_steps": 2000}
    assert member.label == "Hard instances, steps 2,000"
    assert make_spec(spec.model_dump(mode="json")) == spec
    check_plan(spec)


def test_a_member_runs_as_the_same_environment_by_itself() -> None:
    alone = copy.deepcopy(RAW)
    member = {"env": "heavy_bandit", "steps": 2000, "parameters": {"epsilon": 0.5, "planned_steps": 2000}}
    alone.update(families={}, envs={"mine": member}, claims=[], agents={"random": {}})
    ((cell,),) = (evaluation_cells(make_spec(alone), {}),)
    assert cell.runs in [each.runs for each in evaluation_cells(make_spec(RAW), {})]


def test_an_environment_may_have_seeds_of_its_own() -> None:
    runs = {(cell.agent, cell.env): len(cell.runs) for cell in evaluation_cells(make_spec(RAW), {})}
    assert runs["heavy", "plain"] == 4
    assert runs["heavy", "hard.400"] == 3


def test_bounds_and_families_are_no_part_of_the_work() -> None:
    other = copy.deepcopy(RAW)
    other["envs"]["plain"]["bounds"]["shown"] = ["ucrl2"]
    other["families"]["hard"].update(label="others", over_gap=False)
    other["claims"] = []
    assert not list_differences(work(RAW), work(other))
    other["families"]["hard"]["vary"] = {"steps": [400, 2001], "planned_steps": [400, 2000]}
    assert list_differences(work(RAW), work(other))


def work(raw: dict[str, Any]) -> dict[str, Any]:
    return result_relevant(make_spec(raw).model_dump(mode="json"))


def test_a_bound_that_is_not_there_is_one_line() -> None:
    cases: list[tuple[list[str], str]] = [
        (["heavy_ucrl"], r"^spec: envs\.plain: there is no bound 'heavy_ucrl'; did you mean 'heavy_ucrl2'"),
        (["ucbvi"], r"^spec: envs\.plain: there is no bound 'ucbvi': the problem is continuing$"),
    ]
    for shown, message in cases:
        raw = copy.deepcopy(RAW)
        raw["envs"]["plain"]["bounds"]["shown"] = shown
        with pytest.raises(InputError, match=message) as caught:
            check_plan(make_spec(raw))
        assert "\n" not in str(caught.value)
    raw = copy.deepcopy(RAW)
    del raw["families"]["hard"]["bounds"]
    with pytest.raises(
        InputError, match=r"^spec: claims\.0\.conditions\.0 .* bound 'lower_bound', which is not"
    ):
        make_spec(raw)
    with pytest.raises(InputError, match="there are bounds only for MDPs"):
        check_bounds(EnvSpec(env="cart_pole", bounds=BoundsSpec(shown=["ucrl2"])))


# Bounds


def test_lines_are_what_bounds_say() -> None:
    env = make_spec(RAW).envs["plain"]
    at = np.array([1e3, 1e9])
    upper, lower = bound_lines(env, at)
    expected = bounds_of(ht.make_mdp("two_state"), at, epsilon=1.0).regret
    np.testing.assert_allclose(upper.values, expected["heavy_ucrl2"].total)
    np.testing.assert_allclose(lower.values, expected["lower_bound"].total)
    assert upper.share == pytest.approx(upper.values[-1] / 1e9)
    assert np.isnan(lower.share)
    assert (upper.limit, lower.limit) == pytest.approx((0.5, 0.5), abs=0.002)
    assert bound_lines(EnvSpec(env="two_state"), at) == ()


def test_in_episodes_bounds_count_steps() -> None:
    env = EnvSpec(env="two_state", parameters={"horizon": 5}, bounds=BoundsSpec(shown=["q_learning"]))
    (line,) = bound_lines(env, np.array([2e6]))
    assert line.values[0] == pytest.approx(
        float(bounds_of(ht.make_mdp("two_state", horizon=5), 1e7).regret["q_learning"].total)
    )


def test_across_a_family_each_environment_has_its_own() -> None:
    spec = make_spec(RAW)
    members = [env for env in spec.envs.values() if env.family == "hard"]
    (line,) = lines_across(members, np.array(LENGTHS, np.float64), LENGTHS)
    expected = [
        float(compute_bound("lower_bound", T, S=1, A=4, epsilon=0.5, raw_moment=1.0).total) for T in LENGTHS
    ]
    np.testing.assert_allclose(line.values, expected)


def test_where_an_mdp_changes_l_counts_its_stretches_and_the_worst_rules() -> None:
    env = EnvSpec(
        env="changing_bandits",
        parameters={"changes": 3, "gap": 1.0},
        bounds=BoundsSpec(shown=["changing"], epsilon=0.5),
    )
    (line,) = bound_lines(env, np.array([1e6]))
    expected = bounds_of(ht.make_mdp("bandits", gap=1.0), 1e6, epsilon=0.5, changes=3).regret["changing"]
    assert line.values[0] == pytest.approx(float(expected.total))
    assert line.limit == pytest.approx(1.5 / 2, abs=0.002)


# MDPs that change


def test_regret_counts_against_the_best_policy_of_the_stretch() -> None:
    backend = TabularBackend("changing_bandits", {"changes": 3, "planned_steps": 900, "gap": 0.5})
    assert backend.best(np.array([300, 900])).tolist() == pytest.approx([300.0, 900.0])
    assert (
        backend.resolve_parameters("restarting", {"agent": "ucrl2", "epsilon": 1.0, "changes": "true"}, 900)[
            "changes"
        ]
        == 3
    )


# The page


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    made = Study(RAW, tmp_path_factory.mktemp("growing"))
    made.run("inline")
    return made


def test_a_family_sums_up_its_members(study: Study) -> None:
    found = collect_report_data(study)
    hard, moving = make_families(study.spec, found.tasks)
    assert [agent.key for agent in hard.agents] == ["random", "heavy"]
    curves = study.curves()
    last = curves[
        (curves["agent_key"] == "heavy") & (curves["env_key"] == "hard.2000") & (curves["at"] == 2000)
    ].sort_values("replicate")
    np.testing.assert_array_equal(hard.regrets("heavy")[:, 1], last["regret"])
    assert (hard.grows, hard.axis, moving.grows, moving.axis) == (True, "steps", False, "planned_steps")
    assert hard.at_stake is not None
    gap = ht.planning.policy_gap(ht.make_mdp("heavy_bandit", epsilon=0.5, planned_steps=2000))
    assert hard.at_stake[1] == pytest.approx(gap * 2000)
    share = hard.mean(hard.regrets("random") / hard.at_stake)
    assert share.estimate == pytest.approx([0.75] * 3, abs=0.05)  # one in four arms is the best


def test_the_page_shows_families_bounds_and_exponents(study: Study, tmp_path: Path) -> None:
    page = read(study.report(tmp_path / "report.html").read_text())
    ids = page.values("id")
    assert {"family-hard", "family-moving", "env-plain"} <= set(ids)
    assert not any(name.startswith("env-hard") for name in ids)
    assert {"hard--regret", "hard--share", "moving--regret", "plain--log-log"} <= set(ids)
    assert len(ids) == len(set(ids))
    links = [value[1:] for value in page.values("href") if value.startswith("#")]
    assert set(links) <= set(ids)
    assert {"hard-regret.svg", "hard-share.svg", "moving-regret.svg"} <= {
        path.name for path in (tmp_path / "figures").iterdir()
    }
    assert "bound of Heavy-UCRL2" in page.figures["plain--log-log"].text
    assert "Exponent of the mean final regret over the last two decades" in page.words
    assert "share of runs with truncated, at most 100.0 %" in page.words
    assert "at least the bound lower_bound" in page.words


def test_bounds_change_no_report_without_them(study: Study, tmp_path: Path) -> None:
    """A study that names none has no table of growth."""
    raw = {
        **RAW,
        "families": {},
        "claims": [],
        "envs": {"plain": {"env": "two_state", "steps": 300}},
        "agents": {"random": {}},
    }
    plain = Study(raw, tmp_path / "plain")
    plain.run("inline")
    page = read(plain.report(tmp_path / "plain.html").read_text())
    assert "Growth" not in page.words
