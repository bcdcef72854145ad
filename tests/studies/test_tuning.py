import statistics
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.errors import InputError
from heavytail.studies.part_table import SCHEMA
from heavytail.studies.plan import Cell, tuning_cells
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.tuning import GridScore, choose, final_regrets, score_cells
from support.examples import examples
from support.small_studies import small

Regrets = list[list[float | None]]  # [point, run]; None where a run failed


def cells_of(points: int, seeds: int) -> list[Cell]:
    agents = {"q_learning": {"grid": {"transition_scale": [float(k) for k in range(points)]}}}
    return tuning_cells(make_spec(small(envs={"six_arms": {}}, agents=agents, tuning={"seeds": seeds})))


def table_for(cells: list[Cell], regrets: Regrets) -> pa.Table:
    """Curves of two checkpoints that end at these regrets; a failed run has one row without any."""
    runs: list[str] = []
    values: list[float | None] = []
    for cell, finals in zip(cells, regrets, strict=True):
        for replicate, final in enumerate(finals):
            rows = [None] if final is None else [-1e300, final]  # what comes before the end would win
            runs += [cell.runs[replicate]] * len(rows)
            values += rows
    errors = [None if value is not None else "ValueError: no" for value in values]
    columns = {"run": runs, "regret": pa.array(values, pa.float64()), "error": pa.array(errors, pa.string())}
    return pa.concat_tables([SCHEMA.empty_table(), pa.table(columns)], promote_options="default")


def best_point(regrets: Regrets) -> int | None:
    """The slow, obvious way."""
    best: tuple[float, int] | None = None
    for k, finals in enumerate(regrets):
        kept = [value for value in finals if value is not None]
        if kept and (best is None or statistics.median(kept) < best[0]):
            best = statistics.median(kept), k
    return None if best is None else best[1]


# Few different values, so that many points are equal.
some_regrets = st.integers(1, 4).flatmap(
    lambda seeds: st.lists(
        st.lists(
            st.sampled_from([None, 0.0, 1.0, 2.0, -3.5]) | st.floats(-1e6, 1e6),
            min_size=seeds,
            max_size=seeds,
        ),
        min_size=2,  # a single point is not searched
        max_size=5,
    )
)


@given(some_regrets)
@examples(150)
def test_the_first_point_of_smallest_median_final_regret_is_chosen(regrets: Regrets) -> None:
    cells = cells_of(len(regrets), len(regrets[0]))
    scored = score_cells(cells, table_for(cells, regrets))
    assert [each.point for each in scored] == [{"transition_scale": float(k)} for k in range(len(regrets))]
    best = best_point(regrets)
    if best is None:
        with pytest.raises(
            InputError,
            match=(
                r"^tuning: every run of q_learning on six_arms failed, so that nothing can be chosen;"
                r" see heavytail status$"
            ),
        ):
            choose(scored)
    else:
        assert choose(scored) == {"q_learning": {"six_arms": {"transition_scale": float(best)}}}


def test_the_choice_is_for_each_agent_in_each_environment() -> None:
    def scored(agent: str, env: str, k: int, regret: float | None) -> GridScore:
        return GridScore(agent=agent, env=env, point={"k": k}, measure="regret", value=regret)

    rows: list[tuple[str, str, int, float | None]] = [
        ("a", "x", 0, 2.0),
        ("a", "x", 1, 1.0),
        ("a", "y", 0, None),
        ("a", "y", 1, 5.0),
        ("b", "x", 0, 3.0),
        ("b", "x", 1, 3.0),
    ]
    expected = {"a": {"x": {"k": 1}, "y": {"k": 1}}, "b": {"x": {"k": 0}}}
    assert choose([scored(*row) for row in rows]) == expected
    failed = [*rows, ("b", "y", 0, None)]
    with pytest.raises(InputError, match="every run of b on y failed"):
        choose([scored(*row) for row in failed])
    assert choose([]) == {}


def test_the_last_checkpoint_counts() -> None:
    table: Any = pa.table({"run": ["a", "a", "b", "c"], "regret": [5.0, 7.0, 1.0, None]})
    assert final_regrets(table) == {"a": 7.0, "b": 1.0}
