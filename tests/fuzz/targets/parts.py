"""Results of studies: parts, sidecars, first pages and packed files, with checksums that fit where asked.

What is opened must tell how much is done, give its curves, and be reported now and then.
"""

import io
import json
import shutil
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.mutation import Generator, mutate_array, mutate_bytes, mutate_tree, odd_value
from heavytail.studies import Study, packed
from heavytail.studies.part_table import values_digest
from heavytail.studies.store import SWEEPS
from heavytail.studies.sweeps import KEY

SHARE = 2
REPORTED = 0.002  # share of inputs that are reported: that takes a second
RAW = {
    "name": "small",
    "episodes": 60,
    "seeds": 3,
    "checkpoints": 10,
    "envs": {"six_arms": {}},
    "agents": {"random": {}, "q_learning": {"grid": {"transition_scale": [0.01, 0.1]}}},
    "maps": {"q_learning": {"axes": {"transition_scale": [0.01, 0.1], "r_max": [1.0, 2.0]}, "seeds": 2}},
    "tuning": {"seeds": 2},
    "statistics": {"resamples": 50, "permutations": 50},
    "claims": [{"claim": "x", "conditions": [{"test": "better", "agent": "q_learning", "than": "random"}]}],
}


class Whole(NamedTuple):
    """A finished study, in a folder and packed."""

    folder: Path
    files: dict[str, bytes]  # of the folder
    packed: bytes


def start(folder: Path) -> Callable[[Generator], None]:
    """Run a small study, and look at it in both forms."""
    return partial(try_one, run_whole(folder), folder)


def run_whole(folder: Path) -> Whole:
    """Run a small study, and look at it in both forms."""
    study = Study(RAW, folder / "study")
    study.run("inline")
    packed_file = study.pack(folder / "packed.parquet")
    for path in (study.store.folder, packed_file):
        use(path, folder, report=True)
    found = {
        path.relative_to(study.store.folder).as_posix(): path.read_bytes()
        for path in sorted(study.store.folder.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".parquet")
    }
    return Whole(study.store.folder, found, packed_file.read_bytes())


def write_folder(whole: Whole, changed: dict[str, bytes]) -> None:
    """Write the folder anew, with some files changed."""
    shutil.rmtree(whole.folder)
    for name, content in {**whole.files, **changed}.items():
        path = whole.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def try_one(whole: Whole, folder: Path, rng: Generator) -> None:
    """Change a file, and look at the study."""
    report = bool(rng.random() < REPORTED)
    if rng.random() < 0.4:
        path = folder / "hostile.parquet"
        path.write_bytes(_mutate_packed(whole.packed, rng))
        use(path, folder, report=report)
        return
    write_folder(whole, _mutate_file(whole.files, rng))
    use(whole.folder, folder, report=report)


def use(path: Path, folder: Path, *, report: bool) -> None:
    """Open a study and look at all of it."""
    study = Study.open(path)
    stages = study.stages()
    study.failures()
    if stages and not any(stage.missing for stage in stages):
        study.curves()
        study.to_rliable()
        study.pack(folder / "again.parquet")
    if report:
        study.report(folder / "report.html")


def _mutate_file(files: dict[str, bytes], rng: Generator) -> dict[str, bytes]:
    """Change one file of a folder; of a part mostly also its checksum, or nobody would read it."""
    name = list(files)[int(rng.integers(len(files)))]
    content = _mutate_content(name, files[name], rng)
    return {name: content} if rng.random() < 0.1 else with_checksum(files, name, content)


def with_checksum(files: dict[str, bytes], name: str, content: bytes) -> dict[str, bytes]:
    """Return a file with another content, and if it is a part also its sidecar."""
    if not name.startswith("parts/"):
        return {name: content}
    sidecar = name.replace("parts/", "sidecars/").replace(".parquet", ".json")
    page = {**json.loads(files[sidecar]), "sha256": sha256(content).hexdigest()}
    return {name: content, sidecar: json.dumps(page).encode()}


def _mutate_content(name: str, content: bytes, rng: Generator) -> bytes:
    if rng.random() < 0.2:
        return mutate_bytes(content, rng)
    if name.endswith(".json"):
        return json.dumps(mutate_tree(json.loads(content), rng)).encode()
    table = pq.read_table(io.BytesIO(content))
    metadata, table = table.schema.metadata, _mutate_table(table, rng)
    if name == SWEEPS:  # its checksum is that of its values
        told = json.loads(metadata[KEY])
        told = {**told, "values": values_digest(table)} if rng.random() < 0.7 else mutate_tree(told, rng)
        table = table.replace_schema_metadata({KEY: json.dumps(told)})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _mutate_packed(content: bytes, rng: Generator) -> bytes:
    """Change a packed study, and give it a checksum that fits."""
    if rng.random() < 0.1:
        return mutate_bytes(content, rng)
    file = pq.ParquetFile(io.BytesIO(content))
    table = file.read().replace_schema_metadata(None)
    header = json.loads(file.metadata.metadata[KEY])
    del header["digest"]
    if rng.random() < 0.5:
        changed = mutate_tree(header, rng)
        header = changed if isinstance(changed, dict) else {}
    else:
        table = _mutate_table(table, rng)
    try:
        return packed.to_parquet(table, header)
    except (ValueError, pa.ArrowException):  # NaN in the header, or lists in a column, have no digest
        return mutate_bytes(content, rng)


def _mutate_table(table: pa.Table, rng: Generator) -> pa.Table:
    """Change rows, a column or a few of its values."""
    at = int(rng.integers(table.num_columns))
    name, column = table.column_names[at], table.column(at)
    match int(rng.integers(6)):
        case 0:
            return table.slice(int(rng.integers(len(table) + 1)))
        case 1:
            return pa.concat_tables([table, table.slice(0, int(rng.integers(len(table) + 1)))])
        case 2:
            return table.remove_column(at)
        case 3 if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            changed = mutate_array(column.to_numpy(), rng)
            kept = changed.ndim == 1 and len(changed) == len(table) and changed.dtype.kind in "iufb"
            return table.set_column(at, name, pa.array(changed)) if kept else table
        case 4:
            return table.take(pa.array(rng.permutation(len(table))))
        case _:
            return table.set_column(at, name, _odd_column(column, rng))


def _odd_column(column: pa.ChunkedArray, rng: Generator) -> pa.Array:
    values: list[Any] = column.to_pylist()
    for place in rng.integers(len(values), size=int(rng.geometric(0.5))):
        values[place] = odd_value(values[place], rng)
    try:
        return pa.array(values, column.type if rng.random() < 0.8 else None)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
        return pa.nulls(len(values), column.type)
