"""Parts that were altered together with their checksums are told by what the plan knows of them."""

import io
import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from heavytail.errors import InputError
from heavytail.studies import Study, packed
from heavytail.studies.part import Part
from heavytail.studies.sweeps import KEY
from support.small_studies import Notes, done, files, small

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
    path.write_text(json.dumps({**sidecar, "sha256": sha256(content).hexdigest(), **changes}))


def to_bytes(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def with_column(name: str, change: Callable[[pa.ChunkedArray], Any]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(
        table.column_names.index(name), table.schema.field(name), change(table[name])
    )


def first_row(column: pa.ChunkedArray, value: Any) -> pa.Array:
    return pa.array([value, *column.to_pylist()[1:]], column.type)


ALTERED: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "column": (lambda table: table.drop_columns(["regret"]), "its columns are others"),
    "type": (
        lambda table: table.set_column(7, "at", table["at"].cast(pa.float64())),
        "its columns are others",
    ),
    "null": (with_column("at", lambda at: first_row(at, None)), "at is missing in some rows"),
    "agent": (with_column("agent", lambda agent: first_row(agent, "random")), "agent is another"),
    "seeds": (with_column("replicate", lambda r: pc.add(r, 1).cast(pa.int32())), "it holds other seeds"),
    "runs": (with_column("run", pc.utf8_upper), "it holds other runs"),
    "fewer rows": (lambda table: table.slice(0, 9), "it holds other seeds"),
    "shorter run": (lambda table: table.slice(1), "its checkpoints are others"),
    "a seed": (
        with_column("replicate", lambda r: pa.array([*r.to_pylist()[:-1], 7], r.type)),
        "it holds other seeds",
    ),
    "error": (with_column("error", lambda error: first_row(error, "no")), "a run has an error and results"),
    "order": (with_column("at", lambda at: pa.array(at.to_pylist()[::-1])), "its checkpoints are others"),
    "checkpoints": (
        with_column("at", lambda at: pa.array([*at.to_pylist()[:-1], 61])),
        "its checkpoints are others",
    ),
    "beyond the end": (
        with_column("at", lambda at: pc.add(at, 1)),
        "its checkpoints are others",
    ),
    "counter": (
        with_column("counters", lambda column: first_row(column, [("other", 1.0)])),
        "its rows have different counters",
    ),
    "counter's name": (
        with_column("counters", lambda column: pa.array([[("regret", 1.0)]] * len(column), column.type)),
        "its counters have names that are taken",
    ),
    "more rows": (lambda table: pa.concat_tables([table] * 2), "it has 60 rows where 30 would do"),
}


def first_part(study: Study) -> Part:
    return study.cells()[0].parts[0]


@pytest.mark.parametrize("case", ALTERED)
def test_an_altered_part_is_named_and_done_again(case: str, whole: Path, study: Study) -> None:
    part, (alter, said) = first_part(study), ALTERED[case]
    rewrite(study, part, to_bytes(alter(study.store.table([part]))))
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
    assert (study.store.integrity_problem(part) or "").startswith("altered (it is ")


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
    with pytest.raises(InputError, match=f"^{path} is no packed study, or damaged") as caught:
        Study.open(path).curves()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rows", [-1, 0, 10**9, "many", None])
def test_a_packed_study_whose_parts_are_no_rows_is_one_line(rows: Any, study: Study, tmp_path: Path) -> None:
    path = study.pack(tmp_path / "packed.parquet")
    table, header = read_packed(path)
    header["parts"][0][1] = rows
    path.write_bytes(packed.to_parquet(table, header))
    with pytest.raises(InputError, match=f"^{path} is no packed study, or damaged"):
        Study.open(path)
