"""The table of a part, made column by column, against the obvious one: row by row."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from heavytail.studies.backends.backend import Failed, RunCurve, RunResult
from heavytail.studies.part import Part
from heavytail.studies.part_table import (
    SCHEMA,
    SCHEMA_WITH_KEYS,
    counters_of,
    part_to_parquet,
    to_frame,
    to_table,
)
from heavytail.studies.plan import evaluation_cells
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import canonical
from support.examples import examples
from support.small_studies import small

NAMES = ["cells_visited", "truncated", "episodes"]
numbers = st.floats(width=64)  # infinite ones and those that are none as well


def part_with(runs: int) -> Part:
    """Runs that differ in their seed, and in a parameter."""
    (part,) = evaluation_cells(
        make_spec(small(envs={"six_arms": {"parameters": {"horizon": 5}}}, agents={"random": {}}, seeds=1)),
        {},
    )[0].parts
    return part.changed(
        replicates=tuple(range(runs)),
        variants=tuple({"scale": 0.1 * k} for k in range(runs)),
        keys=tuple((f"agent {k}", f"env {k}") for k in range(runs)),
    )


@st.composite
def curves(draw: Any) -> RunCurve:
    at = draw(st.lists(st.integers(1, 10**12), min_size=1, max_size=4))

    def column() -> Any:
        return np.array(draw(st.lists(numbers, min_size=len(at), max_size=len(at))))

    def counts() -> Any:
        return np.arange(len(at)) if draw(st.booleans()) else column()

    counted = draw(st.lists(st.sampled_from(NAMES), unique=True))
    return RunCurve(
        at=np.array(at, np.int64),
        mean_reward=column(),
        realised_reward=column() if draw(st.booleans()) else None,
        regret=column() if draw(st.booleans()) else None,
        counters={name: counts() for name in counted},
    )


outcomes = st.lists(curves() | st.text(max_size=5).map(Failed), min_size=1, max_size=5)


def row_by_row(part: Part, found: Sequence[RunResult]) -> pa.Table:
    rows = [row for run, outcome in zip(part.runs, found, strict=True) for row in rows_of(part, run, outcome)]
    columns = SCHEMA_WITH_KEYS
    return pa.table({name: [row[name] for row in rows] for name in columns.names}, schema=columns)


def rows_of(part: Part, run: Any, outcome: RunResult) -> Iterator[dict[str, Any]]:
    same = {
        "run": run.id,
        "phase": part.phase,
        "env": part.env,
        "env_parameters": canonical(part.env_parameters),
        "agent": part.agent,
        "parameters": canonical(run.parameters),
        "replicate": run.replicate,
        "agent_key": f"agent {run.replicate}",
        "env_key": f"env {run.replicate}",
    }
    if isinstance(outcome, Failed):
        nothing: dict[str, Any] = {
            "mean_reward": None,
            "realised_reward": None,
            "regret": None,
            "counters": [],
        }
        yield {**same, "at": 0, **nothing, "error": outcome.error}
        return
    for i in range(len(outcome.at)):
        yield {
            **same,
            "at": int(outcome.at[i]),
            "mean_reward": float(outcome.mean_reward[i]),
            "realised_reward": None if outcome.realised_reward is None else float(outcome.realised_reward[i]),
            "regret": None if outcome.regret is None else float(outcome.regret[i]),
            "counters": [(name, float(values[i])) for name, values in outcome.counters.items()],
            "error": None,
        }


@given(outcomes)
@examples(200)
def test_the_table_is_the_one_that_is_made_row_by_row(found: list[RunResult]) -> None:
    part = part_with(len(found))
    table, expected = to_table(part, found), row_by_row(part, found)
    table.validate(full=True)
    assert table.schema == expected.schema
    assert repr(table.to_pylist()) == repr(
        expected.to_pylist()
    )  # a nan is no other nan, but is written as one


@given(outcomes)
@examples(50)
def test_the_file_is_the_one_of_the_table_that_is_made_row_by_row(found: list[RunResult]) -> None:
    part, out = part_with(len(found)), io.BytesIO()
    pq.write_table(row_by_row(part, found), out, compression="zstd")
    assert part_to_parquet(part, found) == out.getvalue()


@examples(40)
@given(outcomes, st.integers(0, 4), st.integers(0, 4))
def test_counters_are_the_columns_that_they_are_row_by_row(
    found: list[RunResult], first: int, count: int
) -> None:
    """Also of tables that are pieces of others, as those of packed studies are."""
    whole = to_table(part_with(len(found)), found)
    table = pa.concat_tables([whole.slice(first, count), whole.slice(0, first)])
    frame = table.to_pandas()
    counters = pd.DataFrame([dict(pairs) for pairs in frame.pop("counters")], index=frame.index)
    pd.testing.assert_frame_equal(to_frame(table), pd.concat([frame, counters], axis=1))


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), st.floats(-9, 9)), max_size=6), st.data())
def test_counters_of_slices_are_those_of_their_rows(rows: list[dict[str, float]], data: Any) -> None:
    whole = pa.table(
        {"counters": pa.array([list(row.items()) for row in rows], SCHEMA.field("counters").type)}
    )
    cuts = data.draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=3))
    table = pa.concat_tables([whole.slice(0, 0), *(whole.slice(first, n) for first, n in cuts)])
    kept = [row for first, n in cuts for row in rows[first : first + n]]
    found = counters_of(table)
    assert found.keys() == {name for row in kept for name in row}
    for name, values in found.items():
        np.testing.assert_array_equal(values, [row.get(name, np.nan) for row in kept])
