import copy
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail import registry
from heavytail.planning.reward_moments import reward_moments
from heavytail.registry import Registered, find
from heavytail.studies import plan
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.part import RESULTS_VERSION, Part
from heavytail.studies.plan import Cell, evaluation_cells, tuning_cells, unique_parts
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import Spec
from support.examples import examples
from support.small_studies import small, to_table

CHOICES = {"q_learning": {"six_arms": {"transition_scale": 0.01}, "double_chain": {"transition_scale": 0.1}}}


def evaluation(raw: dict[str, Any]) -> list[Cell]:
    return evaluation_cells(make_spec(raw), CHOICES)


def ids(raw: dict[str, Any]) -> list[str]:
    return sorted(part.id for part in unique_parts([*tuning_cells(make_spec(raw)), *evaluation(raw)]))


def test_a_plan_is_every_agent_in_every_environment_at_every_point() -> None:
    spec = make_spec(small())
    tuning, evaluation = tuning_cells(spec), evaluation_cells(spec, CHOICES)
    assert [(c.agent, c.env, c.point) for c in tuning] == [
        ("q_learning", env, {"transition_scale": scale})
        for env in ("six_arms", "double_chain")
        for scale in (0.01, 0.1)
    ]
    assert [(c.agent, c.env, c.point) for c in evaluation] == [
        ("random", "six_arms", {}),
        ("random", "double_chain", {}),
        ("q_learning", "six_arms", {"transition_scale": 0.01}),
        ("q_learning", "double_chain", {"transition_scale": 0.1}),
    ]
    assert [[part.replicates for part in cell.parts] for cell in tuning] == [[(0, 1)]] * 4
    assert [[part.replicates for part in cell.parts] for cell in evaluation] == [[(0, 1, 2)]] * 4
    assert {part.units for cell in tuning for part in cell.parts} == {10}  # a tenth of 60, but at least ten
    assert {part.units for cell in evaluation for part in cell.parts} == {60}
    restricted = small(agents={"random": {"envs": ["double_chain"]}})
    assert [(c.agent, c.env) for c in evaluation_cells(make_spec(restricted), {})] == [
        ("random", "double_chain")
    ]


def test_tuning_is_a_share_of_the_length_and_never_longer() -> None:
    def units(episodes: int, share: float) -> int:
        return tuning_cells(make_spec(small(episodes=episodes, tuning={"share": share})))[0].parts[0].units

    assert [units(1000, 0.1), units(1000, 0.25), units(50, 0.1), units(7, 0.5)] == [100, 250, 10, 7]
    assert evaluation(small(episodes=7))[0].parts[0].units == 7


# What an id depends on


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("episodes",), 61),
        (("seed",), 1),
        (("checkpoints",), 11),
        (("spacing",), "log"),
        (("envs", "six_arms", "env"), "river_swim"),
        (("envs", "six_arms", "parameters"), {"horizon": 24}),
        (("envs", "six_arms", "episodes"), 61),
        (("agents", "random", "agent"), "optimal"),
        (("agents", "q_learning", "parameters"), {"delta": 0.1}),
    ],
)
def test_an_id_changes_with_everything_that_results_depend_on(place: tuple[str, ...], value: Any) -> None:
    raw = copy.deepcopy(small(steps=60))
    before = {(c.agent, c.env): c.parts[0].id for c in evaluation(raw)}
    inside = raw
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    after = {(c.agent, c.env): c.parts[0].id for c in evaluation(raw)}
    concerned = {key for key in before if place[0] not in ("envs", "agents") or place[1] in key}
    assert {key for key in before if before[key] != after[key]} == concerned


def test_an_id_changes_with_the_version_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ids(small())
    monkeypatch.setitem(RESULTS_VERSION, "tabular", RESULTS_VERSION["tabular"] + 1)
    assert not set(before) & set(ids(small()))


@pytest.mark.parametrize("parameters", [{}, {"agent": "keeper"}], ids=["itself", "the one it holds"])
def test_an_id_changes_with_the_version_of_its_agent_only(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = evaluation(small())[0].parts[0]
    agent = "random" if parameters else "keeper"
    concerned, other = part.changed(agent=agent, parameters=parameters), part.changed(agent="random")
    before = [(p.id, p.runs[0].id) for p in (concerned, other)]
    keeper = Registered("agent", "keeper", print, "", {}, version=2)
    monkeypatch.setitem(registry._table, ("agent", "keeper"), keeper)
    after = [(p.id, p.runs[0].id) for p in (concerned.changed(), other.changed())]
    assert after[1] == before[1]
    assert not set(after[0]) & set(before[0])


def test_every_field_of_a_part_but_its_keys_is_in_its_id() -> None:
    part = evaluation(small())[2].parts[0]
    others: dict[str, Any] = {
        "env": "x",
        "env_parameters": {"x": 1},
        "agent": "x",
        "parameters": {},
        "units": 1,
        "steps": 1,
        "checkpoints": 1,
        "spacing": "log",
        "seed": 5,
        "phase": "tuning",
        "replicates": (1, 2),
        "regret": "gaps",
        "variants": ({"x": 1},),
    }
    assert others.keys() == Part.model_fields.keys() - {"keys"}
    assert part.changed(keys=(("x", "y"),)).id == part.id
    found = [part.id] + [Part(**{**part.model_dump(), name: value}).id for name, value in others.items()]
    assert len(set(found)) == len(found)


def test_an_id_depends_on_nothing_else() -> None:
    """Not on words, claims, statistics, keys, [quick], other agents and environments, nor on any order."""
    before = ids(small())
    claims = [{"claim": "c", "conditions": [{"test": "at_least", "agent": "random", "value": 1}]}]
    same = small(
        name="other",
        title="t",
        description="d",
        claims=claims,
        statistics={"resamples": 7},
        quick={"episodes": 5},
    )
    same["envs"] = {"double_chain": {"label": "two chains"}, "six_arms": {}}
    same["agents"] = {
        "q_learning": {**same["agents"]["q_learning"], "setting": "s"},
        "random": {"label": "dice"},
    }
    assert ids(same) == before
    renamed = small(agents={"dice": {"agent": "random"}, "q_learning": small()["agents"]["q_learning"]})
    assert ids(renamed) == before
    more = small(
        agents={**small()["agents"], "optimal": {}},
        envs={**small()["envs"], "river_swim": {"parameters": {"horizon": 5}}},
    )
    more["agents"]["q_learning"]["envs"] = ["six_arms", "double_chain"]
    assert set(before) < set(ids(more))


def test_reading_an_id_changes_no_other() -> None:
    first, second = evaluation(small())[0].parts[0], evaluation(small())[0].parts[0]
    before = second.run_id(1)
    assert first.id == second.id
    assert first.run_id(1) == before
    assert len({first.id, *map(first.run_id, first.replicates)}) == 4


def _shuffled(value: Any, rng: random.Random) -> Any:
    if not isinstance(value, dict):
        return value
    keys = list(value)
    rng.shuffle(keys)
    return {key: _shuffled(value[key], rng) for key in keys}


@given(st.integers(0, 10**6))
@examples(30)
def test_the_order_of_keys_means_nothing(seed: int) -> None:
    raw = small()
    raw["agents"]["heavy"] = {
        "agent": "heavy_ucrl2",
        "parameters": {"epsilon": 0.05, "moment": 1.0, "delta": 0.1, "estimator_options": {"a": 1}},
    }
    raw["envs"]["six_arms"]["parameters"] = {"law": "pareto", "alpha": 1.5, "horizon": 6}
    shuffled = _shuffled(raw, random.Random(seed))  # noqa: S311 - nothing secret
    assert ids(shuffled) == ids(raw)
    assert Spec.model_validate(shuffled).digest() == Spec.model_validate(raw).digest()


@given(
    st.dictionaries(
        st.text(),
        st.floats(allow_nan=False, allow_infinity=False)
        | st.integers(-(2**70), 2**70)
        | st.booleans()
        | st.text()
        | st.none(),
    )
)
@examples(200)
def test_a_part_travels_as_json_without_change(parameters: dict[str, Any]) -> None:
    part = (
        evaluation(small())[0]
        .parts[0]
        .model_copy(update={"parameters": parameters, "env_parameters": parameters})
    )
    arrived = Part.model_validate_json(part.model_dump_json())
    assert arrived == part
    assert arrived.id == part.id
    assert {key: repr(value) for key, value in arrived.parameters.items()} == {
        key: repr(value) for key, value in parameters.items()
    }


def test_agents_at_the_same_point_share_their_parts() -> None:
    raw = small(
        agents={
            "a": {"agent": "q_learning", "parameters": {"delta": 0.05}},
            "b": {"agent": "q_learning"},
            "c": {"agent": "random"},
        }
    )
    cells = evaluation_cells(make_spec(raw), {})
    by_key = {(c.agent, c.env): c.parts for c in cells}
    assert by_key["a", "six_arms"] == by_key["b", "six_arms"] != by_key["c", "six_arms"]
    assert len(unique_parts(cells)) == 4
    assert len({part.id for part in unique_parts(cells)}) == 4


# Parts


@given(seeds=st.integers(1, 200), steps_per_part=st.integers(1, 10**5), units=st.integers(1, 300))
@examples(60)
def test_parts_hold_every_replicate_once_and_at_most_so_many_steps(
    seeds: int, steps_per_part: int, units: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "STEPS_PER_PART", steps_per_part)
        cell = evaluation_cells(make_spec(small(seeds=seeds, episodes=units, agents={"random": {}})), {})[0]
    assert [r for part in cell.parts for r in part.replicates] == list(range(seeds))
    assert cell.parts[0].steps == 25 * units
    for part in cell.parts[:-1]:
        assert len(part.replicates) == max(1, steps_per_part // part.steps)
    assert 1 <= len(cell.parts[-1].replicates) <= len(cell.parts[0].replicates)
    assert len({part.id for part in cell.parts}) == len(cell.parts)


def test_more_seeds_leave_the_parts_that_were_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 2 * 60 * 25)  # two runs of SixArms in a part
    five, nine = (evaluation(small(seeds=seeds))[0].parts for seeds in (5, 9))
    assert [p.replicates for p in five] == [(0, 1), (2, 3), (4,)]
    assert nine[:2] == five[:2]
    assert len({p.id for p in nine} & {p.id for p in five}) == 2


def test_a_run_is_the_same_in_whichever_part_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = to_table(evaluation(small())[2].parts[0]).to_pylist()
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)
    single = [row for part in evaluation(small())[2].parts for row in to_table(part).to_pylist()]
    assert single == whole
    assert len({row["run"] for row in whole}) == 3


# Seeds


def test_tuning_and_evaluation_never_share_a_seed_and_agents_do() -> None:
    spec = make_spec(small(seeds=50, tuning={"seeds": 50}))
    tuning, evaluation = tuning_cells(spec), evaluation_cells(spec, CHOICES)

    def states(cell: Cell) -> list[tuple[int, ...]]:
        return [
            tuple(part.seed_for(r).generate_state(4).tolist()) for part in cell.parts for r in part.replicates
        ]

    for cells in (tuning, evaluation):
        assert all(states(cell) == states(cells[0]) for cell in cells)
    assert len(set(states(tuning[0])) | set(states(evaluation[0]))) == 100
    other = evaluation_cells(make_spec(small(seed=1)), CHOICES)[0]
    assert not set(states(other)) & set(states(evaluation[0]))


def test_two_agents_meet_the_same_chance() -> None:
    """With one action there is nothing to choose.

    Whatever the agent, transitions and rewards are the same draws.
    """
    raw = small(
        envs={"garnet": {"parameters": {"n_actions": 1, "law": "student_t", "df": 1.5}}},
        agents={"random": {}, "q_learning": {}, "psrl": {}},
    )
    tables = [to_table(cell.parts[0]) for cell in evaluation_cells(make_spec(raw), {})]
    first = tables[0]["realised_reward"].to_pylist()
    assert all(table["realised_reward"].to_pylist() == first for table in tables)
    assert all(table["mean_reward"].to_pylist() == tables[0]["mean_reward"].to_pylist() for table in tables)
    finals = first[9::10]
    assert len(set(finals)) == 3  # the replicates are not the same


# Parameters


def test_parameters_are_complete_and_cast() -> None:
    part = evaluation(small(agents={"q_learning": {"parameters": {"delta": 0.1, "transition_scale": 1}}}))[
        0
    ].parts[0]
    names = [name for name in find("agent", "q_learning").parameters if name != "problem"]
    assert sorted(part.parameters) == sorted(names)
    assert part.parameters["planned_steps"] == 60 * 25
    assert repr(part.parameters["transition_scale"]) == "1.0"
    given = evaluation(small(agents={"q_learning": {"parameters": {"planned_steps": 10**6}}}))[0].parts[0]
    assert given.parameters["planned_steps"] == 10**6


@pytest.mark.parametrize(
    ("agent", "parameters", "kind"),
    [
        ("heavy_q_learning", {}, "raw"),
        ("heavy_ucrl2", {}, "raw"),
        ("heavy_ucrl2", {"estimator": "median_of_means"}, "central"),
        ("ucrl2", {"interval": "heavy"}, "central"),
        ("restarting", {"agent": "heavy_q_learning", "changes": 1}, "raw"),
        ("restarting", {"agent": "heavy_ucrl2", "changes": 1, "estimator": "median_of_means"}, "central"),
    ],
)
def test_the_true_moment_is_of_the_kind_that_the_agent_wants(
    agent: str, parameters: dict[str, Any], kind: Any
) -> None:
    backend, mdp = TabularBackend("six_arms", {}), ht.make_mdp("six_arms")
    found = backend.resolve_parameters(agent, {**parameters, "epsilon": 0.05, "moment": "true"}, 100)
    assert found["moment"] == reward_moments(mdp, 1.05, kind).max()
    assert reward_moments(mdp, 1.05, "raw").max() != pytest.approx(
        reward_moments(mdp, 1.05, "central").max(), rel=0.05
    )


def test_a_point_that_comes_to_the_true_moment_is_the_same_part() -> None:
    moment = float(reward_moments(ht.make_mdp("six_arms"), 1.05).max())
    agent = {"agent": "heavy_q_learning", "parameters": {"epsilon": 0.05}}
    raw = small(envs={"six_arms": {}}, agents={"heavy": {**agent, "grid": {"moment": ["true", moment, 1.0]}}})
    cells = tuning_cells(make_spec(raw))
    assert cells[0].parts == cells[1].parts
    assert len(unique_parts(cells)) == 2
    assert np.isfinite(cells[0].parts[0].parameters["moment"])


def test_the_parts_of_a_run_that_agents_share_name_them_all() -> None:
    """Two agents whose grids come to the same point, and two names of one environment."""
    agents = {"one": {"agent": "random"}, "two": {"agent": "random"}, "q_learning": {}}
    cells = evaluation(small(envs={"six_arms": {}, "again": {"env": "six_arms"}}, agents=agents))
    keys = {part.agent: part.run_keys for cell in cells for part in cell.parts}
    assert keys["random"] == (("one,two", "six_arms,again"),) * 3
    assert keys["q_learning"] == (("q_learning", "six_arms,again"),) * 3


def test_regret_by_gaps_is_another_result_of_the_same_runs(tmp_path: Path) -> None:
    spec = {
        "name": "luck",
        "episodes": 50,
        "seeds": 2,
        "checkpoints": 10,
        "envs": {"river_swim": {}},
        "agents": {"psrl": {}},
    }
    by_rewards = ht.Study(spec, tmp_path / "rewards")
    by_gaps = ht.Study({**spec, "regret": "gaps"}, tmp_path / "gaps")
    for study in (by_rewards, by_gaps):
        study.run(engine="inline")
    curves = [study.curves() for study in (by_rewards, by_gaps)]
    assert set(curves[0]["run"]).isdisjoint(curves[1]["run"])
    assert curves[0]["realised_reward"].equals(curves[1]["realised_reward"])
    assert not curves[0]["regret"].equals(curves[1]["regret"])
    assert (curves[1]["regret"] > -1e-9).all()


def test_gaps_of_deep_environments_are_not_known(tmp_path: Path) -> None:
    spec = {
        "name": "deep",
        "steps": 100,
        "regret": "gaps",
        "envs": {"mountain_car": {}},
        "agents": {"dqn": {}},
    }
    with pytest.raises(ht.InputError, match=r"known of MDPs only, and not of envs\.mountain_car"):
        ht.Study(spec, tmp_path)
