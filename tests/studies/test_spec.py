import copy
import datetime as dt
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heavytail.errors import InputError
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.specs.reading import make_spec, read_spec
from heavytail.studies.specs.spec import Spec
from support.examples import examples

GOOD: dict[str, Any] = {
    "name": "good",
    "title": "A study that uses every key",
    "description": "",
    "episodes": 100,
    "steps": 1000,
    "seeds": 3,
    "seed": 1,
    "checkpoints": 20,
    "spacing": "log",
    "envs": {
        "arms": {"env": "six_arms", "label": "SixArms", "parameters": {"horizon": 5}, "episodes": 50},
        "double_chain": {"parameters": {"law": "student_t", "df": 1.5, "p": 0.7}},
        "two_state": {
            "steps": 500,
            "seeds": 2,
            "bounds": {"shown": ["heavy_ucrl2"], "epsilon": 0.5, "delta": 0.1},
            "family": "",
            "at": None,
        },
    },
    "families": {
        "hard": {
            "env": "heavy_bandit",
            "label": "hard ones",
            "parameters": {"epsilon": 0.5},
            "vary": {"steps": [200, 400], "planned_steps": [200, 400]},
            "over_gap": True,
        }
    },
    "agents": {
        "random": {"label": "at random"},
        "optimistic": {
            "agent": "q_learning",
            "parameters": {"delta": 0.1},
            "grid": {"transition_scale": [0.01, 1]},
            "envs": ["arms"],
        },
        "heavy": {
            "agent": "heavy_ucrl2",
            "setting": "tuned",
            "parameters": {"epsilon": 0.05},
            "grid": {"moment": [1.0, "true"]},
        },
    },
    "maps": {
        "field": {
            "agent": "heavy_q_learning",
            "label": "a field",
            "parameters": {"epsilon": 0.05},
            "envs": ["arms"],
            "seeds": 2,
            "checkpoints": 12,
            "axes": {"moment": [1, "true"], "reward_scale": [0.1, 0.01, 1.0]},
        }
    },
    "tuning": {"share": 0.5, "seeds": 2},
    "statistics": {"confidence": 0.9, "resamples": 100, "permutations": 100, "significance": 0.1},
    "claims": [
        {
            "claim": "It learns.",
            "place": "5.1",
            "note": "",
            "conditions": [
                {
                    "test": "better",
                    "agent": "optimistic",
                    "than": "random",
                    "envs": ["arms"],
                    "metric": "final_regret",
                },
                {"test": "at_least", "agent": "heavy", "value": 0.5},
                {"test": "at_most", "agent": "heavy", "metric": "counter", "counter": "phases", "value": 100},
                {"test": "no_gain", "agent": "heavy", "than": "random", "margin": 0.1},
                {
                    "test": "rate_at_most",
                    "agent": "heavy",
                    "metric": "counter",
                    "counter": "truncated",
                    "value": 0.1,
                },
                {
                    "test": "at_most",
                    "agent": "heavy",
                    "envs": ["two_state"],
                    "metric": "final_regret",
                    "of": "heavy_ucrl2",
                    "statistic": "mean",
                },
            ],
        }
    ],
    "quick": {"episodes": 10, "envs": {"arms": {"episodes": 5}}, "tuning": {"seeds": 1}},
}


def changed(place: str, value: Any = None, *, delete: bool = False) -> dict[str, Any]:
    """A good spec with one thing changed."""
    raw = copy.deepcopy(GOOD)
    *before, last = place.split("/")
    inside: Any = raw
    for key in before:
        inside = inside[int(key) if isinstance(inside, list) else key]
    at: Any = int(last) if isinstance(inside, list) else last
    if delete:
        del inside[at]
    else:
        inside[at] = value
    return raw


def mistake(raw: Any) -> str:
    """What is said of a spec, which must be one line."""
    with pytest.raises(InputError) as caught:
        check_plan(make_spec(raw, where="spec.toml"), "spec.toml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_every_key_is_read() -> None:
    """What is given is what is there: the good spec leaves no key at its default."""
    spec = make_spec(GOOD)
    check_plan(spec)
    assert spec.envs["double_chain"].env == "double_chain"
    assert spec.agents["random"].agent == "random"
    dumped = spec.model_dump(mode="json")
    assert dumped.keys() == GOOD.keys()
    for key in ("envs", "families", "agents", "maps"):
        for name, table in GOOD[key].items():
            assert {k: dumped[key][name][k] for k in table} == table
    conditions = dumped["claims"][0]["conditions"]
    for condition, table in zip(conditions, GOOD["claims"][0]["conditions"], strict=True):
        assert condition == {**condition, **table}
    assert make_spec(dumped) == spec


MISTAKES: list[tuple[str, Any, str]] = [
    # Keys that do not exist, at each level
    ("episods", 5, "there is no key episods; did you mean 'episodes'?"),
    ("envs/arms/parameter", {}, "there is no key envs.arms.parameter; did you mean 'parameters'?"),
    ("agents/random/grids", {}, "there is no key agents.random.grids; did you mean 'grid'?"),
    ("tuning/seed", 1, "there is no key tuning.seed; did you mean 'seeds'?"),
    ("statistics/confidense", 1, "there is no key statistics.confidense; did you mean 'confidence'?"),
    ("claims/0/cliam", "", "there is no key claims.0.cliam; did you mean 'claim'?"),
    ("claims/0/conditions/0/then", "", "there is no key claims.0.conditions.0.then; did you mean 'than'?"),
    ("a\nb", 1, "there is no key 'a\\nb'; choose from: agents, "),
    # Names of things that do not exist
    ("envs/arms/env", "six_arm", "envs.arms: there is no environment 'six_arm'; did you mean 'six_arms'?"),
    ("agents/heavy/agent", "heavy_ucrl",
     "agents.heavy: there is no agent 'heavy_ucrl'; did you mean 'heavy_ucrl2'?"),
    ("agents/random/envs", ["arm"], "agents.random.envs: there is no 'arm'; did you mean 'arms'?"),
    ("agents/optimistic/parameters/transition_scales", 1,
     "agents.optimistic.parameters: there is no 'transition_scales'; did you mean 'transition_scale'?"),
    ("agents/optimistic/parameters/problem", 1,
     "agents.optimistic.parameters: there is no 'problem'; choose from: bonus, "),
    ("agents/heavy/grid/momentum", [1], "agents.heavy.grid: there is no 'momentum'; did you mean 'moment'?"),
    ("envs/arms/parameters/horizonn", 5,
     "envs.arms: six_arms has no parameter 'horizonn'; did you mean 'horizon'?"),
    ("envs/double_chain/parameters/alpha", 1.5,
     "envs.double_chain: neither double_chain nor student_t has a parameter 'alpha'; choose from: df, "),
    ("envs/double_chain/parameters/law", "studnt_t",
     "envs.double_chain: there is no law 'studnt_t'; did you mean 'student_t'?"),
    ("claims/0/conditions/0/agent", "optimist",
     "claims.0.conditions.0.agent: there is no 'optimist'; did you mean 'optimistic'?"),
    ("claims/0/conditions/0/than", "randon",
     "claims.0.conditions.0.than: there is no 'randon'; did you mean 'random'?"),
    ("claims/0/conditions/1/than", "randon",
     "claims.0.conditions.1.than: there is no 'randon'; did you mean 'random'?"),
    ("claims/0/conditions/0/than", "",
     "claims.0.conditions.0.than: there is no ''; choose from: heavy, optimistic, random"),
    ("claims/0/conditions/1/envs", ["arm"],
     "claims.0.conditions.1.envs: there is no 'arm'; did you mean 'arms'?"),
    ("claims/0/conditions/0/envs", ["two_state"],
     "claims.0.conditions.0.envs: where optimistic and random run: there is no 'two_state'; choose"),
    ("claims/0/conditions/2/counter", "phase",
     "claims.0.conditions.2.counter: heavy counts no 'phase'; did you mean 'phases'?"),
    ("agents/random/envs", ["two_state"],
     "claims.0.conditions.0: optimistic and random run in no environment together"),
    # Wrong types
    ("name", 3, "name is 3; it must be a string"),
    ("name", "..",
     "name is '..'; it must be made of letters, digits, '_', '-' and '.', and not begin with the last two"),
    ("name", "a/b",
     "name is 'a/b'; it must be made of letters, digits, '_', '-' and '.', and not begin with the last two"),
    ("name", "a" * 81, f"name is '{'a' * 59}; it must have at most 80 characters"),
    ("episodes", "many", "episodes is 'many'; it must be a whole number"),
    ("episodes", 1.5, "episodes is 1.5; it must be a whole number"),
    ("episodes", True, "episodes is True; it must be a whole number"),
    ("episodes", 0, "episodes is 0; it must be at least 1"),
    ("seeds", 10**9, "seeds is 1000000000; it must be at most 100000"),
    ("seed", -1, "seed is -1; it must be at least 0"),
    ("seed", 2**63, "seed is 9223372036854775808; it must be at most 9223372036854775807"),
    ("seed", 10**400, "seed is 1000000000"),
    ("seed", 10**5000, "seed is a int too large to show; it must be a finite number"),
    ("spacing", "odd", "spacing is 'odd'; it must be 'even' or 'log'"),
    ("checkpoints", 5, "checkpoints is 5; it must be at least 10"),
    ("envs", [], "envs is []; it must be a table of keys"),
    ("agents", {},
     "a study needs at least one environment under [envs.NAME] and one agent under [agents.NAME]"),
    ("envs", {}, "agents.optimistic.envs: there is no 'arms'; choose from: hard.200, hard.400"),
    ("envs/arms", 3, "envs.arms is 3; it must be a table of keys"),
    ("envs/a b", {}, "envs.'a b' is 'a b'; it must be made of letters"),
    ("envs/arms/parameters", [1], "envs.arms.parameters is [1]; it must be a table of keys"),
    ("agents/heavy/grid/moment", 1, "agents.heavy.grid.moment is 1; it must be a list"),
    ("agents/random/envs", "arms", "agents.random.envs is 'arms'; it must be a list"),
    ("agents/random/envs", [], "agents.random.envs is []; it must not be empty"),
    ("tuning/share", 1.5, "tuning.share is 1.5; it must be at most 1"),
    ("tuning/share", 0, "tuning.share is 0; it must be above 0"),
    ("statistics/confidence", 1, "statistics.confidence is 1; it must be below 1"),
    ("statistics/confidence", "95%", "statistics.confidence is '95%'; it must be a number"),
    ("claims/0/conditions", [], "claims.0.conditions is []; it must not be empty"),
    ("claims/0/conditions/0/test", "beter",
     "claims.0.conditions.0.test: there is no claim 'beter'; did you mean 'better'?"),
    ("claims/0/conditions/0/test", 3, "claims.0.conditions.0.test is 3; it must be a string"),
    ("plugins", "mine", "plugins is 'mine'; it must be a list"),
    ("plugins", ["not_there"],
     "plugins: the module 'not_there' cannot be imported (ModuleNotFoundError: No module named"),
    ("plugins", ["a b"],
     "plugins: the module 'a b' cannot be imported (ModuleNotFoundError: No module named 'a b');"),
    ("plugins", [".relative"], "plugins: the module '.relative' cannot be imported (TypeError: "),
    ("quick", 3, "quick is 3; it must be a table of keys"),
    # Values that no file of results can hold
    ("episodes", float("nan"),
     "episodes is nan; it must be a finite number, a string, true or false, or a list or table of them"),
    ("agents/heavy/grid/moment", [1.0, float("inf")],
     "agents.heavy.grid.moment.1 is inf; it must be a finite number"),
    ("envs/arms/parameters/horizon", float("-inf"),
     "envs.arms.parameters.horizon is -inf; it must be a finite number"),
    ("title", dt.date(2024, 1, 1),
     "title is datetime.date(2024, 1, 1); it must be a finite number, a string"),
    ("agents/heavy/parameters/x", dt.time(1), "agents.heavy.parameters.x is datetime.time(1, 0); it must be"),
    ("agents/random/parameters", {1: 2}, "agents.random.parameters.1 is no key; it must be a string"),
    # What contradicts itself, or what builders say
    ("agents/heavy/grid/moment", [], "agents.heavy.grid.moment is empty; it must list at least one value"),
    ("agents/heavy/grid/epsilon", [0.05],
     "agents.heavy has epsilon both in its parameters and in its grid; leave one of them out"),
    ("agents/optimistic/grid",
     {name: list(range(1, 23)) for name in ("transition_scale", "r_max", "planned_steps")},
     "agents.optimistic.grid has more than 10,000 points; it must have fewer values"),
    ("agents/optimistic/parameters/delta", 2,
     "agents.optimistic (transition_scale = 0.01) on arms: q_learning: delta must be below 1, got 2.0"),
    ("agents/optimistic/grid/transition_scale", [1, -1],
     "agents.optimistic (transition_scale = -1) on arms: q_learning: transition_scale must be at least"),
    ("agents/optimistic/envs", ["arms", "two_state"],
     "agents.optimistic (transition_scale = 0.01) on two_state: q_learning learns in episodes, but this"),
    ("agents/heavy/parameters", {"epsilon": 2.0},
     "agents.heavy (moment = 1.0) on arms: heavy_ucrl2: epsilon must be at most 1, got 2.0"),
    ("agents/heavy/parameters/epsilon", 0.5,
     "agents.heavy (moment = 'true') on arms: moment is 'true', but the rewards have no finite moment"),
    ("envs/arms/parameters/horizon", 10**15,
     "agents.optimistic (transition_scale = 0.01) on arms: q_learning does not fit in memory: "),
    ("claims/0/conditions/1/value", None,
     "claims.0.conditions.1: 'at_least' needs value=, a share of the optimum"),
    ("claims/0/conditions/4/value", None,
     "claims.0.conditions.4: 'rate_at_most' needs value=, a share of runs"),
    ("claims/0/conditions/1/test", "rate_at_least",
     'claims.0.conditions.1: \'rate_at_least\' is for counters; say metric = "counter"'),
    ("claims/0/conditions/1/of", "ucrl2",
     "claims.0.conditions.1: of is 'ucrl2', a bound on regret; that is for 'at_least' and 'at_most'"),
    # Families
    ("families/hard/vari", {}, "there is no key families.hard.vari; did you mean 'vary'?"),
    ("families/hard/vary/steps", [200],
     "families.hard: vary must hold lists of one length, of two values or more"),
    ("families/hard/vary/steps", [400, 200],
     "families.hard: vary.steps is the axis, and must be numbers of at least 0 that ascend"),
    ("families/hard/vary/steps", ["a", "b"],
     "families.hard: vary.steps is the axis, and must be numbers of at least 0 that ascend"),
    ("families/hard/vary/steps", [0.5, 2.5], "families.hard: steps is 0.5; it must be a whole number"),
    ("families/arms", GOOD["families"]["hard"],
     "arms is the key of an environment and of a family; rename one"),
    ("envs/two_state/bounds/shown", [], "envs.two_state.bounds.shown is []; it must not be empty"),
    # Maps
    ("maps/field/axis", {}, "there is no key maps.field.axis; did you mean 'axes'?"),
    ("maps/field/agent", "heavy_q_learn",
     "maps.field: there is no agent 'heavy_q_learn'; did you mean 'heavy_q_learning'?"),
    ("maps/field/agent", "heavy_dqn", "maps.field is deep and cannot learn in arms; name other environments"),
    ("maps/field/envs", ["arm"], "maps.field.envs: there is no 'arm'; did you mean 'arms'?"),
    ("maps/field/parameters/momentum", 1,
     "maps.field.parameters: there is no 'momentum'; did you mean 'moment'?"),
    ("maps/field/checkpoints", 5, "maps.field.checkpoints is 5; it must be at least 10"),
    ("maps/field/axes", {"moment": [1.0]}, "maps.field: axes has 1 of them; a map has two or three"),
    ("maps/field/axes/momentum", [1], "maps.field.axes: there is no 'momentum'; did you mean 'moment'?"),
    ("maps/field/axes/delta", [], "maps.field.axes.delta is empty; it must list at least one value"),
    ("maps/field/axes/delta", [True],
     "maps.field: axes.delta has True; it must be a number, since other values may need another program"),
    ("maps/field/axes/bonus", ["hoeffding"],
     "maps.field: axes.bonus has 'hoeffding'; it must be a number, since"),
    ("maps/field/axes/delta", ["true"], "maps.field: axes.delta has 'true'; it must be a number, since"),
    ("maps/field/axes/delta", [0.1, 0.2, 0.1], "maps.field: axes.delta has 0.1 twice; once will do"),
    ("maps/field/parameters/moment", 1.0,
     "maps.field has moment both in its parameters and in its axes; leave one of them out"),
    ("maps/field",
     {**GOOD["maps"]["field"], "parameters": {}, "axes": {"epsilon": [0.01, 0.05], "moment": [1, "true"]}},
     "maps.field: moment is 'true', but its order depends on epsilon, which is an axis; give"),
    ("maps/field/axes", {name: list(range(1, 102)) for name in ("moment", "r_max", "planned_steps")},
     "maps.field.axes has more than 1,000,000 points; it must have fewer values"),
    ("maps/field/axes/delta", [0.1, 2],
     "maps.field (moment = 1, reward_scale = 0.1, delta = 2) on arms: heavy_q_learning: delta must be"),
    ("maps/field/parameters", {"epsilon": 2.0},
     "maps.field (moment = 1, reward_scale = 0.1) on arms: heavy_q_learning: epsilon must be at most 1,"),
    ("claims/0/conditions/2/counter", "",
     "claims.0.conditions.2: metric is 'counter' and counter is ''; name a counter if"),
    ("claims/0/conditions/0/counter", "phases",
     "claims.0.conditions.0: metric is 'final_regret' and counter is 'phases'; name a counter"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "value", "message"), MISTAKES, ids=[f"{i}-{case[0]!r}" for i, case in enumerate(MISTAKES)]
)
def test_mistakes_are_one_line_with_file_key_value_and_remedy(place: str, value: Any, message: str) -> None:
    assert mistake(changed(place, value)).startswith(f"spec.toml: {message}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("name", "spec.toml: the key name is missing"),
        ("agents", "spec.toml: the key agents is missing"),
        ("claims/0/claim", "spec.toml: the key claims.0.claim is missing"),
        ("claims/0/conditions/0/agent", "spec.toml: the key claims.0.conditions.0.agent is missing"),
        (
            "episodes",
            (
                "spec.toml: envs.double_chain: it counts episodes, and the study does not say how many;"
                " give episodes= for envs.double_chain"
            ),
        ),
    ],
)
def test_what_is_missing_is_named(place: str, message: str) -> None:
    assert mistake(changed(place, delete=True)).startswith(message)


def test_families_are_environments_enough() -> None:
    agents: dict[str, Any] = {"random": {}}
    families = {"lengths": {"env": "six_arms", "vary": {"horizon": [5, 10]}}}
    spec = make_spec({"name": "x", "episodes": 9, "families": families, "agents": agents})
    assert list(spec.envs) == ["lengths.5", "lengths.10"]
    with pytest.raises(InputError, match="a study needs at least one environment"):
        make_spec({"name": "x", "episodes": 9, "agents": agents})


def test_a_continuing_environment_wants_steps() -> None:
    raw = changed("steps", delete=True)
    assert make_spec(raw).envs["two_state"].steps == raw["envs"]["two_state"]["steps"]
    del raw["envs"]["two_state"]["steps"]
    assert mistake(raw).startswith(
        "spec.toml: envs.two_state: it counts steps, and the study does not say how many; give"
        " steps= for envs.two_state"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = ", "is not valid TOML: Invalid value (at end of document)"),
        (b"name = 1\nname = 2", "is not valid TOML: Cannot overwrite a value (at end of document)"),
        (
            b"\xff\xfe",
            "cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (b"a = " + b"[" * 100_000, "is not valid TOML: it is nested too deeply"),
        (b"a = " + b"9" * 5000, "is not valid TOML: Exceeds the limit"),
        (
            b"a = " + b"[" * 100 + b"]" * 100,
            ": a.0.0 is nested too deeply; 20 tables or lists in each other must do",
        ),
        (b"", ": the key name is missing"),
        (
            b"name = 2024-01-01",
            ": name is datetime.date(2024, 1, 1); it must be a finite number, a string, true or false",
        ),
        (b"name = nan", ": name is nan; it must be a finite number"),
    ],
    ids=range(9),
)
def test_a_file_that_is_no_spec_is_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_spec(path)
    assert str(caught.value).startswith(f"{path}{'' if message.startswith(':') else ' '}{message}")
    assert "\n" not in str(caught.value)


def test_no_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "none.toml", "cannot be read: No such file or directory"),
        (
            tmp_path,
            f"is a folder; a spec is a .toml file. To continue a study: heavytail resume {tmp_path}",
        ),
    ):
        with pytest.raises(InputError) as caught:
            read_spec(path)
        assert str(caught.value) == f"{path} {message}"


def test_something_else_than_a_table_is_one_line() -> None:
    for raw in (None, [], "name", 3, [1] * 10_000):
        assert mistake(raw).startswith("spec.toml must be a table of keys, got ")
    loop: dict[str, Any] = {}
    loop["quick"] = loop
    assert mistake(loop).startswith("spec.toml: quick.quick.quick is nested too deeply")


def test_quick_replaces_values_table_by_table_and_nothing_else() -> None:
    full, quick = make_spec(GOOD), make_spec(GOOD, quick=True)
    assert (full.episodes, full.envs["arms"].episodes, full.tuning.seeds) == (100, 50, 2)
    assert (quick.episodes, quick.envs["arms"].episodes, quick.tuning.seeds) == (10, 5, 1)
    back = quick.model_dump()
    back["episodes"], back["envs"]["arms"]["episodes"], back["tuning"]["seeds"], back["quick"] = (
        100,
        50,
        2,
        full.quick,
    )
    assert back == full.model_dump()


def test_quick_makes_a_map_coarser() -> None:
    raw = changed("quick", {"maps": {"field": {"seeds": 1, "axes": {"reward_scale": [1.0]}}}})
    spec = make_spec(raw, quick=True)
    assert (spec.maps["field"].seeds, spec.maps["field"].axes) == (
        1,
        {"moment": [1, "true"], "reward_scale": [1.0]},
    )


def test_a_study_without_maps_says_nothing_of_them() -> None:
    """So that studies from before there were any keep their digest and their page."""
    with_maps, without = make_spec(GOOD), make_spec(changed("maps", {}))
    assert "maps" in with_maps.model_dump()
    assert "maps" not in without.model_dump()
    assert without.digest() == make_spec(changed("maps", delete=True)).digest() != with_maps.digest()


def test_quick_may_change_what_is_called_quick_and_replaces_lists_whole() -> None:
    raw = changed("envs/quick", {"env": "river_swim"})
    raw["quick"] = {"envs": {"quick": {"steps": 7}}, "agents": {"heavy": {"grid": {"moment": [2.0]}}}}
    spec = make_spec(raw, quick=True)
    assert (spec.envs["quick"].env, spec.envs["quick"].steps) == ("river_swim", 7)
    assert spec.agents["heavy"].grid == {"moment": [2.0]}
    assert make_spec(raw).envs["quick"].steps is None
    assert spec.quick == {}
    assert mistake(changed("quick/episods", 1)).startswith("spec.toml with [quick]: there is no key episods;")


def test_a_file_says_the_same_as_a_dictionary(tmp_path: Path) -> None:
    text = """
    name = "mine"
    episodes = 100
    agents.random = {}
    [envs.six_arms]
    parameters = { law = "pareto", alpha = 1.5 }
    [quick]
    episodes = 10
    """
    (tmp_path / "mine.toml").write_text(text)
    for quick in (False, True):
        assert read_spec(tmp_path / "mine.toml", quick=quick) == make_spec(tomllib.loads(text), quick=quick)
    assert read_spec(tmp_path / "mine.toml", quick=True).episodes == 10


# Whatever is in it: a study, or one line

# Whole numbers are small or far too large: those between would be tried, and building an environment with a
# billion states takes a while.
NUMBERS = st.integers(-30, 30) | st.sampled_from([2**53, 2**63, 10**30, 10**400]) | st.floats()
WORDS = st.text(max_size=8) | st.sampled_from(
    [
        *GOOD,
        *GOOD["envs"],
        *GOOD["agents"],
        *GOOD["agents"]["heavy"],
        *GOOD["maps"]["field"],
        "six_arms",
        "heavy_ucrl2",
        "true",
        "law",
    ]
)
LEAVES = st.none() | st.booleans() | NUMBERS | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def containers(value: Any) -> list[Any]:
    """Every non-empty table and list in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for item in inner for each in containers(item)] + (
        [value] if isinstance(value, (dict, list)) and value else []
    )


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A good spec after a few accidents."""
    raw: Any = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        inside = draw(st.sampled_from(containers(raw)))
        key = draw(st.sampled_from(sorted(inside) if isinstance(inside, dict) else range(len(inside))))
        match draw(st.sampled_from(["replace", "delete", "rename", "add", "borrow"])):
            case "replace":
                inside[key] = draw(VALUES)
            case "delete":
                del inside[key]
            case "rename" if isinstance(inside, dict):
                inside[draw(WORDS)] = inside.pop(key)
            case "add" if isinstance(inside, dict):
                inside[draw(WORDS)] = draw(VALUES)
            case _:
                inside[key] = copy.deepcopy(draw(st.sampled_from([*containers(GOOD), 1])))
        if not containers(raw):
            break
    return raw


def study_or_one_line(raw: Any) -> Spec | None:
    try:
        spec = make_spec(raw)
        check_plan(spec)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
        return None
    return spec


@given(raw=mutated(), quick=st.booleans())
@examples(500)
@example(raw=changed("envs/arms/parameters/probabilities", {"a": 1}), quick=False)
@example(raw=changed("envs/arms/parameters/probabilities", ["a", []]), quick=False)
@example(raw=changed("agents/heavy/parameters/estimator_options", "x"), quick=False)
@example(raw=changed("agents/heavy/parameters/estimator_options", {"\n": 1}), quick=False)
@example(
    raw=changed(
        "agents/random",
        {"agent": "restarting", "parameters": {"agent": "q_learning", "changes": 1, "epsilon": 1, "a\nb": 1}},
    ),
    quick=True,
)
def test_a_damaged_spec_is_a_study_or_one_line(raw: Any, quick: bool) -> None:
    spec = study_or_one_line(raw)
    if spec is not None:
        assert make_spec(json.loads(json.dumps(spec.model_dump(mode="json")))) == spec
        if quick:
            study_or_one_line(make_spec(raw, quick=True).model_dump(mode="json"))
