"""MDPs from logs: probabilities, laws and labels against the obvious count; mistakes in one line."""

from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.laws.law import laws_from_table
from heavytail.mdp.validation import check_mdp
from heavytail.planning.reward_moments import reward_moments, usable_epsilon
from support.examples import examples

COLUMNS: dict[str, Any] = {"state": "s", "action": "a", "reward": "r", "next_state": "s_next"}
EPISODES: dict[str, Any] = {**COLUMNS, "terminated": "done", "horizon": 5}

Row = tuple[Hashable, Hashable, float, Hashable, bool]


def frame(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["s", "a", "r", "s_next", "done"])


def router() -> pd.DataFrame:
    """Two loads, two servers; "gone" is only ever entered at an end."""
    rows: list[Row] = [
        ("low", "a", -1.0, "low", False),
        ("low", "a", -2.0, "low", False),
        ("low", "b", -3.0, "high", False),
        ("high", "a", -40.0, "gone", True),
        ("high", "b", -5.0, "low", False),
    ]
    return frame(rows)


labels = st.sampled_from(["x", "y", "z"])
logs = st.lists(
    st.tuples(labels, st.integers(0, 2), st.floats(-1e6, 1e6), labels, st.booleans()), min_size=1, max_size=30
)


@examples(50)
@given(logs)
def test_it_counts_what_the_log_shows(rows: list[Row]) -> None:
    log = ht.mdp_from_log(frame(rows), **EPISODES, unvisited="stay", unvisited_reward=-7.0)
    mdp, laws = check_mdp(log.mdp), laws_from_table(log.mdp.laws)
    cells = Counter((s, a) for s, a, *_ in rows)
    assert {cell: n for cell, n in _by_label(log, log.counts).items() if n} == cells
    for cell, mean in _by_label(log, mdp.mean_rewards).items():
        rewards = [r for s, a, r, *_ in rows if (s, a) == cell]
        assert not rewards or mean == pytest.approx(np.mean(rewards), abs=1e-6)
    slots = Counter((s, a, s_next, done) for s, a, _, s_next, done in rows)
    for slot, row in enumerate(mdp.rows()):
        s, a = (int(k) for k in np.divmod(row, mdp.n_actions))
        key = log.states[s], log.actions[a], log.states[mdp.successors[slot]], bool(mdp.ends[slot])
        if cells[key[:2]]:
            assert mdp.probabilities()[slot] == pytest.approx(slots[key] / cells[key[:2]])
            rewards = [
                r for *transition, r in ((*t[:2], *t[3:], t[2]) for t in rows) if tuple(transition) == key
            ]
            law = laws[mdp.law[slot]]
            assert sorted(law.data() if len(law.data()) else [law.mean()] * len(rewards)) == sorted(rewards)
        else:
            assert key[0] == key[2]
            assert log.filled[s, a] != (mdp.ends[slot] and mdp.row_means[row] == 0.0)


@examples(30)
@given(logs)
def test_without_a_next_state_each_row_is_an_episode_of_one_step(rows: list[Row]) -> None:
    bandit = {name: COLUMNS[name] for name in ("state", "action", "reward")}
    log = ht.mdp_from_log(frame(rows), **bandit, unvisited="stay")
    mdp, seen = check_mdp(log.mdp), Counter(s for s, *_ in rows)
    assert mdp.horizon == 1
    assert mdp.start == pytest.approx([seen[s] / len(rows) for s in log.states])
    best = mdp.mean_rewards.max(axis=1) @ mdp.start
    assert ht.planning.optimal_value(mdp) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("kind", ["raw", "central"])
def test_moments_of_samples_are_those_of_their_laws(kind: Literal["raw", "central"]) -> None:
    """They are read from the table without making laws of them, to the last bit."""
    rng = np.random.default_rng(0)
    table = {name: rng.integers(0, 3, 500) for name in ("s", "a", "s_next")} | {"r": rng.pareto(1.2, 500)}
    mdp = ht.mdp_from_log(table, **COLUMNS).mdp
    laws, rows = laws_from_table(mdp.laws), mdp.rows()
    centers = mdp.row_means[rows] * (kind == "central")
    slots = [laws[i].moment(1.3, float(center)) for i, center in zip(mdp.law, centers, strict=True)]
    expected = np.bincount(rows, weights=mdp.probabilities() * slots)
    assert reward_moments(mdp, 1.3, kind).ravel().tolist() == expected.tolist()
    assert usable_epsilon(mdp) == 1.0
    with pytest.raises(ht.InputError, match="reward_moments: p must be above 0, got -1"):
        reward_moments(mdp, -1)


def _by_label(log: ht.LoggedMDP, values: Any) -> dict[tuple[Hashable, Hashable], Any]:
    return {(s, a): values[i, k] for i, s in enumerate(log.states) for k, a in enumerate(log.actions)}


def test_states_that_are_only_entered_at_an_end_need_no_actions() -> None:
    log = ht.mdp_from_log(router(), **EPISODES)
    assert log.unvisited == []
    assert repr(log) == "LoggedMDP(3 states, 2 actions, 5 transitions, 0 of 6 cells unvisited)"
    assert log.states == ("gone", "high", "low")
    assert log.mdp.ends[log.mdp.successors == log.state("gone")].all()


def test_unvisited_cells_are_an_error_unless_something_is_said_of_them() -> None:
    rows = router()[:-1]
    with pytest.raises(ht.InputError, match="does not show 'b' in 'high'; say what happens there"):
        ht.mdp_from_log(rows, **EPISODES)
    stays = ht.mdp_from_log(rows, **EPISODES, unvisited="stay")
    s, a = stays.state("high"), stays.action("b")
    assert stays.unvisited == [("high", "b")]
    assert stays.mdp.transitions[s, a, s] == 1.0
    assert stays.mdp.mean_rewards[s, a] == -40.0  # the lowest mean of the log
    ends = ht.mdp_from_log(rows, **EPISODES, unvisited="end", unvisited_reward=-100.0)
    assert ends.mdp.mean_rewards[s, a] == -100.0
    assert ends.mdp.ends[ends.mdp.rows() == s * 2 + a].all()


def test_it_starts_where_episodes_start() -> None:
    log = ht.mdp_from_log(router(), **EPISODES)  # the last row does not go on from the one before it
    assert dict(zip(log.states, log.mdp.start, strict=True)) == {"gone": 0, "high": 0.5, "low": 0.5}
    by_column = ht.mdp_from_log(router().assign(e=[0, 0, 0, 0, 0]), **EPISODES, episode="e")
    assert by_column.mdp.start[by_column.state("low")] == 1.0
    by_hand = ht.mdp_from_log(router(), **EPISODES, start={"high": 0.25, "low": 0.75})
    assert by_hand.mdp.start.tolist() == [0.0, 0.25, 0.75]
    with pytest.raises(ht.InputError, match="there is no state 'hihg'; states are 'gone', 'high', 'low'"):
        ht.mdp_from_log(router(), **EPISODES, start="hihg")


def test_several_columns_make_a_state_and_an_action() -> None:
    table = pd.DataFrame(
        {"queue": [0, 1, 0], "hour": ["am", "am", "pm"], "to": [1, 0, 0], "then": ["am", "pm", "am"]}
    ).assign(server=["x", "x", "x"], fast=[True, False, True], r=[1.0, 2.0, 3.0])
    log = ht.mdp_from_log(
        table,
        state=["queue", "hour"],
        action=["server", "fast"],
        next_state=["to", "then"],
        reward="r",
        unvisited="stay",
    )
    assert log.states == ((0, "am"), (0, "pm"), (1, "am"))
    assert log.actions == (("x", False), ("x", True))
    assert log.mdp.mean_rewards[log.state((1, "am")), log.action(("x", False))] == 2.0
    assert log.to_frame().query("n > 0")["mean_reward"].tolist() == [1.0, 3.0, 2.0]


def test_every_kind_of_table_gives_the_same(tmp_path: Path) -> None:
    table, digest = router(), ht.mdp_from_log(router(), **EPISODES).mdp
    table.to_parquet(tmp_path / "log.parquet")
    table.to_csv(tmp_path / "log.csv")
    table.to_csv(tmp_path / "log.txt")
    arrow = pa.Table.from_pandas(table)
    categories = table.assign(s=table["s"].astype("category"), s_next=table["s_next"].astype("category"))
    sources = [arrow, pl.from_arrow(arrow), table.to_dict("list"), categories]
    for source in [*sources, tmp_path / "log.parquet", str(tmp_path / "log.csv"), tmp_path / "log.txt"]:
        other = ht.mdp_from_log(source, **EPISODES).mdp
        assert np.array_equal(other.row_means, digest.row_means)
        assert np.array_equal(other.laws.samples, digest.laws.samples)


def test_labels_may_be_anything_hashable() -> None:
    days = pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-02"])
    log = ht.mdp_from_log(
        {"s": days, "a": [("x", 1), ("x", 1), ("x", 1)], "r": [1, 2, 3], "s_next": days[::-1]}, **COLUMNS
    )
    assert log.states == (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02"))
    assert log.actions == (("x", 1),)


def test_one_state_is_a_bandit() -> None:
    log = ht.mdp_from_log(frame([(0, "x", 1.0, 0, False), (0, "y", 2.0, 0, False)]), **COLUMNS)
    assert ht.planning.gain(log.mdp) == 2.0


def test_agents_and_environments_take_it() -> None:
    log = ht.mdp_from_log(router(), **EPISODES, start="low")
    curve = ht.make_agent(log, "q_learning", seed=0).learn(episodes=50)
    assert (
        curve.mean_reward[-1]
        == ht.make_agent(log.mdp, "q_learning", seed=0).learn(episodes=50).mean_reward[-1]
    )
    env = ht.gym.MDPEnv(mdp=log)
    assert env.reset(seed=0) == (2, {"state": "low"})
    state, *_, info = env.step(log.action("b"))
    assert info["state"] == log.states[state]


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        (
            router().rename(columns={"r": "reward"}),
            {},
            "no column 'r'; its columns are",
        ),
        (
            router().rename(columns={"r": "rewards"}),
            {"reward": "reward"},
            "no column 'reward'; its columns are .*rewards",
        ),
        (router()[:0], {}, "has no rows"),
        (router().rename(columns={"done": "r"}), {"terminated": None}, "the log has 2 columns 'r'; rename"),
        ("http://localhost/log.csv", {}, "cannot be read: No such file or directory"),
        (router().assign(r=[1.0, np.nan, 1.0, 1.0, 1.0]), {}, "reward in row 1 of the log is nan"),
        (router().assign(r=[1.0, *[np.nan] * 4]), {}, "reward in row 1 and 3 more of the log is nan"),
        (router().assign(r=[1.0, 1.0, 1.0, 1.0, np.inf]), {}, "reward in row 4 of the log is inf"),
        (router().assign(r=["1"] * 5), {}, "rewards are numbers"),
        (router().assign(r=[1e308] * 5), {}, "too large to be averaged"),
        (router().assign(s=[0, 1, 2, 3, 4]), {}, "must have the same type in both"),
        (router().assign(a=[0, "0", 1, 1, 1]), {}, "'a' of the log mixes numbers and text"),
        (router().assign(a=[[0]] * 5), {}, "holds what cannot be a label"),
        (router().assign(s=["low", None, "low", "high", "high"]), {}, "has no value in row 1; every"),
        (
            router().assign(a=["a", None, "b", None, "b"]),
            {},
            "'a' of the log has no value in row 1 and 1 more; every row needs one",
        ),
        (router().assign(s_next=["low", "low", "high", None, "low"]), {}, "has no value in row 3"),
        (router().assign(done=["no"] * 5), {}, "'done' of the log is 'no' in row 0"),
        (router(), {"horizon": None}, "give horizon="),
        (router(), {"next_state": None}, "terminated is given and next_state is not"),
        (
            router(),
            {"next_state": None, "terminated": None},
            "horizon is 5, but without next_state= each row is an episode of one step",
        ),
        (router(), {"state": ["s", "a"]}, "must have as many columns as each other"),
        (router(), {"state": 3}, "state is 3; it must be the name of a column, or a list of names"),
        (router(), {"reward": ["r"]}, "reward is .* it must be the name of a column$"),
        (router(), {"unvisited": "sty"}, "unvisited is 'sty'; did you mean 'stay'"),
        (router(), {"unvisited_reward": "low"}, "unvisited_reward"),
        (router(), {"start": {"low": 0.3}}, "start must be a state or 3 probabilities that sum to one"),
        (3, {}, "the log is a int; it must be a DataFrame"),
        ({"s": [1], "a": [1, 2]}, {}, "the log is not a table"),
        ("nowhere.parquet", {}, "nowhere.parquet cannot be read: No such file"),
        (__file__, {}, "not a valid CSV or Parquet table"),
    ],
)
def test_mistakes_are_one_line(table: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.InputError, match=message) as caught:
        ht.mdp_from_log(table, **{**EPISODES, **changes})
    assert "\n" not in str(caught.value)
