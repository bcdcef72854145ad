"""The table of a part, made column by column, against the obvious one; and altered ones, told by the plan."""

import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.errors import InputError
from heavytail.studies import Study, packed
from heavytail.studies.backends.backend import Failed, RunCurve, RunResult
from heavytail.studies.part import Part
from heavytail.studies.part_table import (
    SCHEMA,
    SCHEMA_WITH_KEYS,
    counters_of,
    part_to_parquet,
    table_to_parquet,
    to_frame,
    to_table,
)
from heavytail.studies.plan import evaluation_cells
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import canonical
from heavytail.studies.sweeps import KEY
from support.examples import examples
from support.small_studies import Notes, done, files, small

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


RAW = small(agents={"q_learning": {}, "random": {}})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return done(RAW, tmp_path_factory.mktemp("whole")).store.folder


@pytest.fixture
def study(whole: Path, tmp_path: Path) -> Study:
    """A copy that may be changed."""
    return Study.open(shutil.copytree(whole, tmp_path / "copy"))


def rewrite(study: Study, part: Part, content: bytes, /, **changes: Any) -> None:
    """Put other content in the place of a part, with a checksum that fits."""
    (study.store.parts / f"{part.id}.parquet").write_bytes(content)
    path = study.store.sidecar_folder / f"{part.id}.json"
    sidecar = json.loads(path.read_text())
    changed = {**sidecar, "sha256": sha256(content).hexdigest(), **changes}
    path.write_text(json.dumps({name: value for name, value in changed.items() if value is not ...}))


def with_column(name: str, change: Callable[[pa.ChunkedArray], Any]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(
        table.column_names.index(name), table.schema.field(name), change(table[name])
    )


def first_row(column: pa.ChunkedArray, value: Any) -> pa.Array:
    return pa.array([value, *column.to_pylist()[1:]], column.type)


ALTERED: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "column": (lambda table: table.drop_columns(["regret"]), "its columns are wrong"),
    "type": (
        lambda table: table.set_column(7, "at", table["at"].cast(pa.float64())),
        "its columns are wrong",
    ),
    "null": (with_column("at", lambda at: first_row(at, None)), "at is missing in some rows"),
    "no rewards": (
        with_column("mean_reward", lambda rewards: pa.nulls(len(rewards), rewards.type)),
        "mean_reward is missing in some rows",
    ),
    "no regret": (
        with_column("regret", lambda regret: pa.nulls(len(regret), regret.type)),
        "regret is missing in some rows",
    ),
    "agent": (with_column("agent", lambda agent: first_row(agent, "random")), "its agent is wrong"),
    "seeds": (with_column("replicate", lambda r: pc.add(r, 1).cast(pa.int32())), "it holds other seeds"),
    "runs": (with_column("run", pc.utf8_upper), "it holds other runs"),
    "fewer rows": (lambda table: table.slice(0, 9), "it holds other seeds"),
    "shorter run": (lambda table: table.slice(1), "its checkpoints are wrong"),
    "a seed": (
        with_column("replicate", lambda r: pa.array([*r.to_pylist()[:-1], 7], r.type)),
        "it holds other seeds",
    ),
    "error": (with_column("error", lambda error: first_row(error, "no")), "a run has an error and results"),
    "order": (with_column("at", lambda at: pa.array(at.to_pylist()[::-1])), "its checkpoints are wrong"),
    "checkpoints": (
        with_column("at", lambda at: pa.array([*at.to_pylist()[:-1], 61])),
        "its checkpoints are wrong",
    ),
    "beyond the end": (with_column("at", lambda at: pc.add(at, 1)), "its checkpoints are wrong"),
    "counter": (
        with_column("counters", lambda column: first_row(column, [("other", 1.0)])),
        "its rows have different counters",
    ),
    "counter's name": (
        with_column("counters", lambda column: pa.array([[("regret", 1.0)]] * len(column), column.type)),
        "its counters have reserved names",
    ),
    "a long text in each row": (
        with_column("error", lambda error: pa.array(["x" * 1_000_000] * len(error))),
        "it would take more than 10.3 MB of memory",
    ),
    "more rows": (lambda table: pa.concat_tables([table] * 2), "it has 60 rows, and should have at most 30"),
}


def first_part(study: Study) -> Part:
    return study.cells()[0].parts[0]


@pytest.mark.parametrize("case", ALTERED)
def test_an_altered_part_is_named_and_done_again(case: str, whole: Path, study: Study) -> None:
    part, (alter, said) = first_part(study), ALTERED[case]
    rewrite(study, part, table_to_parquet(alter(study.store.table([part]))))
    assert study.store.integrity_problem(part) == f"altered ({said})"
    notes = Notes()
    study.run("inline", listener=notes)
    assert notes.damaged == {part.id: f"altered ({said})"}
    assert files(study.store.folder) == files(whole)


def test_a_part_in_the_place_of_another_is_done_again(study: Study) -> None:
    first, second = (cell.parts[0] for cell in study.cells()[:2])
    content = (study.store.parts / f"{second.id}.parquet").read_bytes()
    rewrite(study, first, content)
    assert "altered" in (study.store.integrity_problem(first) or "")
    rewrite(study, first, content, part=second.model_dump(mode="json"))
    assert study.store.integrity_problem(first) == "altered (it is of another part)"


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": "soon"},
        {"seconds": ...},
        {"seconds": -1.0},
        {"seconds": True},
        {"part": 3},
        {"part": {}},
        {"host": "x" * 300},
    ],
    ids=str,
)
def test_a_sidecar_that_is_none_is_done_again(changes: dict[str, Any], study: Study) -> None:
    part = first_part(study)
    rewrite(study, part, (study.store.parts / f"{part.id}.parquet").read_bytes(), **changes)
    assert (study.store.integrity_problem(part) or "").startswith("altered (it ")


def test_content_that_is_no_table_is_done_again(study: Study) -> None:
    part = first_part(study)
    rewrite(study, part, b"no table")
    assert (study.store.integrity_problem(part) or "").startswith("altered (")


def read_packed(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """The rows of a packed study, and its header without the digest."""
    file = pq.ParquetFile(path)
    header = json.loads(file.metadata.metadata[KEY])
    return file.read(), {name: value for name, value in header.items() if name != "digest"}


@pytest.mark.parametrize(
    "case", [case for case in ALTERED if case not in ("column", "fewer rows", "more rows")]
)
def test_a_packed_study_with_a_checksum_that_fits_is_checked_too(
    case: str, study: Study, tmp_path: Path
) -> None:
    """Whoever packs a study can put anything in."""
    path = study.pack(tmp_path / "packed.parquet")
    table, header = read_packed(path)
    first, (alter, _) = header["parts"][0], ALTERED[case]
    altered, rest = alter(table.slice(0, first[1])), table.slice(first[1])
    first[1] = len(altered)
    everything = pa.concat_tables([altered, rest], promote_options="permissive")
    path.write_bytes(packed.to_parquet(everything, header))
    with pytest.raises(InputError, match=f"^{path} is not a packed study, or damaged") as caught:
        Study.open(path).curves()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rows", [-1, 0, 10**9, "many", None])
def test_a_packed_study_whose_parts_are_no_rows_is_one_line(rows: Any, study: Study, tmp_path: Path) -> None:
    path = study.pack(tmp_path / "packed.parquet")
    table, header = read_packed(path)
    header["parts"][0][1] = rows
    path.write_bytes(packed.to_parquet(table, header))
    with pytest.raises(InputError, match=f"^{path} is not a packed study, or damaged"):
        Study.open(path)
