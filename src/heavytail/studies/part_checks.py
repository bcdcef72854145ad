"""What stored results must hold: the runs of their part, in the form in which they were written.

Checksums tell damage, not intent: whoever changes a file can change its checksum too. So nothing is taken
from a file that the plan knows itself, and what is taken has the form that the rest of heavytail relies on.
The numbers of a run could only be told from others by computing them again.
"""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.checks import is_number
from heavytail.studies.parts import KEY_COLUMNS, flat_counters, schema, schema_with_keys
from heavytail.studies.plan import Part
from heavytail.studies.specs.spec import canonical

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ALWAYS = ("run", "phase", "env", "env_parameters", "agent", "parameters", "replicate", "at", "counters")
KEYS = (*KEY_COLUMNS, "point")  # columns that are added to those of a part
MAX_ROW_BYTES = 10_000  # of a part, unpacked
MAX_WORD = 200  # characters of what a sidecar says


def sidecar_problem(part: Part, sidecar: Any) -> str | None:
    """Find what is wrong with a part's sidecar; None if nothing."""
    if not is_sidecar(sidecar) or not isinstance(sidecar.get("part"), dict):
        return "it is no sidecar"
    try:
        return None if Part.model_validate(sidecar["part"]).id == part.id else "it is of another part"
    except (ValueError, TypeError):
        return "it is of no part"


def is_sidecar(value: Any) -> bool:
    """Tell whether a value says by whom and how fast something was computed."""
    if not isinstance(value, Mapping):
        return False
    told = {key: word for key, word in value.items() if key != "part"}
    numbers = (told.get("seconds", 0.0), told.get("parts", 1))
    return all(map(_is_amount, numbers)) and all(_is_word(key) and _is_word(told[key]) for key in told)


def _is_word(value: Any) -> bool:
    return _is_amount(value) or (isinstance(value, str) and len(value) <= MAX_WORD)


def _is_amount(value: Any) -> bool:
    return is_number(value) and math.isfinite(value) and 0 <= value < 1e18


def size_problem(part: Part, file: "pq.ParquetFile") -> str | None:
    """Find out from the header of a part's file whether it is as large as it should be; None if it is."""
    rows = len(part.replicates) * part.checkpoints
    if file.metadata.num_rows > rows:
        return f"it has {file.metadata.num_rows:,} rows where {rows:,} would do"
    return "it is too large" if unpacked_bytes(file) > (rows + 1000) * MAX_ROW_BYTES else None


def unpacked_bytes(file: "pq.ParquetFile") -> int:
    """The bytes that a file takes in memory, as its header has it."""
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    return sum(group.total_byte_size for group in groups)


def table_problem(part: Part, table: "pa.Table") -> str | None:
    """Find what is wrong with the table of a part; None if nothing."""
    return next(_table_problems(part, table), None)


def _table_problems(part: Part, table: "pa.Table") -> Iterator[str]:
    """Yield what is wrong; each check relies on those before it, so that only the first counts."""
    if not any(table.schema.equals(known) for known in (schema(), schema_with_keys())):
        yield "its columns are others"
    for name in ALWAYS:
        if table[name].null_count:
            yield f"{name} is missing in some rows"
    labels = {
        "phase": part.phase,
        "env": part.env,
        "env_parameters": canonical(part.env_parameters),
        "agent": part.agent,
    }
    for name, value in labels.items():
        if table[name].unique().to_pylist() != [value]:
            yield f"{name} is another"
    yield from _run_problems(part, table)


def _run_problems(part: Part, table: "pa.Table") -> Iterator[str]:
    """Yield what is wrong with the runs: each has the same checkpoints, or one row with an error."""
    run = table["run"].combine_chunks().dictionary_encode().indices.to_numpy()
    first = np.flatnonzero(np.diff(run, prepend=-1))
    begins, lengths = table.take(first), np.diff(first, append=len(run))
    if begins["replicate"].to_pylist() != list(part.replicates) or not np.array_equal(
        np.repeat(part.replicates, lengths), table["replicate"].to_numpy()
    ):
        yield "it holds other seeds"
    # the plan of a sweep knows no ids of runs
    if part.phase != "map" and begins["run"].to_pylist() != [run.id for run in part.runs]:
        yield "it holds other runs"
    failed, errors = begins["error"].is_valid().to_numpy(), table["error"]
    curves = table if errors.null_count == len(table) else table.filter(errors.is_null())
    if (lengths[failed] != 1).any() or len(curves) != lengths[~failed].sum():
        yield "a run has an error and results"
    if not np.array_equal(np.tile(part.backend.checkpoints(part), (~failed).sum()), curves["at"].to_numpy()):
        yield "its checkpoints are others"
    names, _, counts = flat_counters(curves)
    codes, n = names.indices.to_numpy(), int(counts[0]) if len(counts) else 0
    if (counts != n).any() or (n and (codes.reshape(-1, n) != codes[:n]).any()):
        yield "its rows have different counters"
    found = names[:n].to_pylist()
    if len({*found, *schema().names, *KEYS}) < len(found) + len(schema()) + len(KEYS):
        yield "its counters have names that are taken"
