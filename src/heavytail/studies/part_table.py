"""The table of a part: made from its runs, written as a Parquet file, read and checked.

The bytes of the file depend only on the part: not on the worker, the machine's load or the clock. A run that
raises becomes a row with its error, and the others continue.

Checksums detect damage, not intent: anyone who changes a file can change its checksum too. So nothing that
the plan knows itself is read from a file, and the rest is checked to have the form that heavytail relies on.
Only computing the runs again could show that their numbers were forged.
"""

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from heavytail.arrays import Floats, Ints
from heavytail.checks import is_number
from heavytail.studies.backends import backend_of
from heavytail.studies.backends.backend import Failed, RunCurve, RunResult, WorkContext, failure
from heavytail.studies.part import Part
from heavytail.studies.specs.spec import canonical, env_kind
from heavytail.tables import require_unpacked_size

if TYPE_CHECKING:
    import pandas as pd

# of a part; `at` counts episodes, or steps in a continuing problem
SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("phase", pa.string()),
        ("env", pa.string()),
        ("env_parameters", pa.string()),
        ("agent", pa.string()),
        ("parameters", pa.string()),
        ("replicate", pa.int32()),
        ("at", pa.int64()),
        ("mean_reward", pa.float64()),
        ("realised_reward", pa.float64()),
        ("regret", pa.float64()),
        ("counters", pa.map_(pa.string(), pa.float64())),
        ("error", pa.string()),
    ]
)
ALWAYS = ("run", "phase", "env", "env_parameters", "agent", "parameters", "replicate", "at", "counters")
KEY_COLUMNS = ("agent_key", "env_key")  # for other readers; heavytail takes them from the spec
SCHEMA_WITH_KEYS = pa.schema([*SCHEMA, *((name, pa.string()) for name in KEY_COLUMNS)])  # older: without
MAX_ROW_BYTES = 10_000  # of a part, unpacked
# exceptions for malformed content; Arrow's OSErrors do not come from the disk
DAMAGE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
MAX_WORD = 200  # characters of a text in a sidecar
MAX_WORDS = 50


def run_part(part: Part, context: WorkContext | None = None) -> bytes:
    """Compute a part, and return the bytes of its file."""
    return part_to_parquet(part, list(_run(part, context or WorkContext.bare())))


def _run(part: Part, context: WorkContext) -> Iterator[RunResult]:
    try:
        backend = backend_of(part)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
        yield from [failure(error)] * len(part.runs)
    else:
        yield from backend.run(part, context)


def part_to_parquet(part: Part, results: Sequence[RunResult]) -> bytes:
    """Return the bytes of the file of a part with these results, run by run."""
    return table_to_parquet(to_table(part, results))


def table_to_parquet(table: pa.Table) -> bytes:
    """Return the bytes of the file of a part with this table."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def to_table(part: Part, results: Sequence[RunResult]) -> pa.Table:
    """Make the table of all runs, one row per checkpoint.

    It has cumulative rewards, and regret against the best policy. A failed run has one row, with its error.
    """
    row = np.repeat(np.arange(len(results)), _lengths(results))  # the run of each row

    def of_runs(values: Sequence[Any]) -> pa.Array:
        return pa.array(values).take(pa.array(row))

    def same(value: str) -> pa.Array:
        return pa.array([value]).take(pa.array(np.zeros(len(row), np.int64)))

    columns = {
        "run": of_runs([run.id for run in part.runs]),
        "phase": same(part.phase),
        "env": same(part.env),
        "env_parameters": same(canonical(part.env_parameters)),
        "agent": same(part.agent),
        "parameters": of_runs([canonical(run.parameters) for run in part.runs]),
        "replicate": of_runs([run.replicate for run in part.runs]),
        "at": np.concatenate([np.zeros(1, np.int64) if isinstance(r, Failed) else r.at for r in results]),
        "mean_reward": _numbers(results, lambda curve: curve.mean_reward),
        "realised_reward": _numbers(results, lambda curve: curve.realised_reward),
        "regret": _numbers(results, lambda curve: curve.regret),
        "counters": _counters(results),
        "error": of_runs([r.error if isinstance(r, Failed) else None for r in results]),
    }
    table = pa.table(
        {
            name: pa.array(columns[name]).cast(kind)
            for name, kind in zip(SCHEMA.names, SCHEMA.types, strict=True)
        },
        schema=SCHEMA,
    )
    return with_keys(table, part)


def with_keys(table: pa.Table, part: Part) -> pa.Table:
    """Add the columns `KEY_COLUMNS` to the table of a part: the spec's keys of agent and environment."""
    run = table["run"].combine_chunks().dictionary_encode().indices  # runs follow one another
    for name, keys in zip(KEY_COLUMNS, zip(*part.run_keys, strict=True), strict=False):
        table = table.append_column(name, pa.array(keys, pa.string()).take(run))
    return table


def _lengths(results: Sequence[RunResult]) -> list[int]:
    """Count the rows of each run."""
    return [1 if isinstance(result, Failed) else len(result.at) for result in results]


def _numbers(results: Sequence[RunResult], read: Callable[[RunCurve], Floats | None]) -> pa.Array:
    """Return a number for every row; null if it is unknown."""
    curves, lengths = [None if isinstance(r, Failed) else read(r) for r in results], _lengths(results)
    values = [np.zeros(n) if curve is None else curve for curve, n in zip(curves, lengths, strict=True)]
    missing = np.repeat([curve is None for curve in curves], lengths)
    return pa.array(np.concatenate(values), pa.float64(), mask=missing)


def _counters(results: Sequence[RunResult]) -> pa.Array:
    """Return the counters of every row, as pairs of a name and a number."""
    names, values, lengths = list[str](), [np.zeros(0)], list[int]()
    for result in results:
        if isinstance(result, Failed):
            lengths.append(0)
            continue
        rows, counted = len(result.at), list(result.counters)
        names += counted * rows
        lengths += [len(counted)] * rows
        if counted:
            table = np.column_stack([result.counters[name] for name in counted])
            values.append(table.reshape(-1).astype(np.float64))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    numbers = pa.array(np.concatenate(values), pa.float64())
    return pa.MapArray.from_arrays(offsets, pa.array(names, pa.string()), numbers)


# Reading


def to_frame(table: pa.Table) -> "pd.DataFrame":
    """Return the curves of some parts as a DataFrame, with counters as columns."""
    import pandas as pd

    frame = table.drop_columns("counters").to_pandas()
    return pd.concat([frame, pd.DataFrame(counters_of(table), index=frame.index)], axis=1)


def counters_of(table: pa.Table) -> dict[str, Floats]:
    """Return the counters of all rows by name; NaN in rows without the counter."""
    names, values, counts = flat_counters(table)
    row = np.repeat(np.arange(len(table)), counts)
    columns = {}
    for code, name in enumerate(names.dictionary.to_pylist()):
        here = names.indices.to_numpy() == code
        columns[name] = np.full(len(table), np.nan)
        columns[name][row[here]] = values[here]
    return columns


def flat_counters(table: pa.Table) -> tuple[pa.DictionaryArray, Floats, Ints]:
    """Return the names and values of all counters, row by row, and how many each row has.

    For a slice, Arrow itself would convert the whole table behind it.
    """
    pairs = pa.concat_arrays([pa.array([], table.schema.field("counters").type), *table["counters"].chunks])
    offsets = pairs.offsets.to_numpy()
    here = slice(offsets[0], offsets[-1])
    values = pairs.items[here].to_numpy(zero_copy_only=False)
    return pairs.keys[here].dictionary_encode(), values, np.diff(offsets)


def values_digest(table: pa.Table) -> str:
    """Return a digest of the names and values of all columns, however they are stored."""
    digest = sha256(str(len(table)).encode())
    for name in table.column_names:
        column = table[name].combine_chunks()
        digest.update(name.encode() + np.packbits(column.is_valid()).tobytes())
        if pa.types.is_string(column.type):
            digest.update(_words_to_bytes(column.dictionary_encode()))
        elif pa.types.is_map(column.type):
            words, numbers, counts = flat_counters(table)
            digest.update(counts.tobytes() + numbers.tobytes() + _words_to_bytes(words))
        else:
            numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
            digest.update(str(numbers.dtype).encode() + numbers.tobytes())
    return digest.hexdigest()


def _words_to_bytes(words: pa.DictionaryArray) -> bytes:
    indices: bytes = words.indices.fill_null(-1).to_numpy().tobytes()
    return indices + json.dumps(words.dictionary.to_pylist()).encode()


# Checks


def sidecar_problem(part: Part, sidecar: Any) -> str | None:
    """Find what is wrong with a part's sidecar; None if nothing."""
    if not is_sidecar(sidecar) or not isinstance(sidecar.get("part"), dict) or "seconds" not in sidecar:
        return "it is not a sidecar"
    try:
        return None if Part.model_validate(sidecar["part"]).id == part.id else "it is of another part"
    except (ValueError, TypeError):
        return "it does not belong to a part"


def is_sidecar(value: Any) -> bool:
    """Return whether a value is a sidecar: by whom and how fast something was computed."""
    if not isinstance(value, Mapping):
        return False
    told = {key: word for key, word in value.items() if key != "part"}
    numbers = (told.get("seconds", 0.0), told.get("parts", 1))
    return (
        len(told) <= MAX_WORDS
        and all(map(_is_amount, numbers))
        and all(_is_word(key) and _is_word(told[key]) for key in told)
    )


def _is_word(value: Any) -> bool:
    return _is_amount(value) or (isinstance(value, str) and len(value) <= MAX_WORD)


def _is_amount(value: Any) -> bool:
    return is_number(value) and math.isfinite(value) and 0 <= value < 1e18


def read_table(part: Part, content: bytes) -> pa.Table:
    """Read a part's file; ValueError if it is larger than it should be."""
    file, rows = pq.ParquetFile(pa.BufferReader(content)), len(part.replicates) * part.checkpoints
    if file.metadata.num_rows > rows:
        raise ValueError(f"it has {file.metadata.num_rows:,} rows, and should have at most {rows:,}")
    require_unpacked_size(content, (rows + 1000) * MAX_ROW_BYTES)
    return file.read()


def table_problem(part: Part, table: pa.Table) -> str | None:
    """Find what is wrong with the table of a part; None if nothing."""
    return next(_table_problems(part, table), None)


def _table_problems(part: Part, table: pa.Table) -> Iterator[str]:
    """Yield problems; each check relies on the earlier ones, so only the first problem counts."""
    if not any(table.schema.equals(known) for known in (SCHEMA, SCHEMA_WITH_KEYS)):
        yield "its columns are wrong"
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
            yield f"its {name} is wrong"
    yield from _run_problems(part, table)


def _run_problems(part: Part, table: pa.Table) -> Iterator[str]:
    """Yield problems of the runs: each must have the same checkpoints, or one row with an error."""
    run = table["run"].combine_chunks().dictionary_encode().indices.to_numpy()
    first = np.flatnonzero(np.diff(run, prepend=-1))
    begins, lengths = table.take(first), np.diff(first, append=len(run))
    if begins["replicate"].to_pylist() != list(part.replicates) or not np.array_equal(
        np.repeat(part.replicates, lengths), table["replicate"].to_numpy()
    ):
        yield "it holds other seeds"
    # the plan of a sweep does not know the ids of runs
    if part.phase != "map" and begins["run"].to_pylist() != [run.id for run in part.runs]:
        yield "it holds other runs"
    failed, errors = begins["error"].is_valid().to_numpy(), table["error"]
    curves = table if errors.null_count == len(table) else table.filter(errors.is_null())
    if (lengths[failed] != 1).any() or len(curves) != lengths[~failed].sum():
        yield "a run has an error and results"
    if not np.array_equal(
        np.tile(backend_of(part).checkpoints(part), (~failed).sum()), curves["at"].to_numpy()
    ):
        yield "its checkpoints are wrong"
    for name in ("mean_reward", "regret") if env_kind(part.env) == "tabular" else ():
        if np.isnan(curves[name].to_numpy()).any():
            yield f"{name} is missing in some rows"
    names, _, counts = flat_counters(curves)
    codes, n = names.indices.to_numpy(), int(counts[0]) if len(counts) else 0
    if (counts != n).any() or (n and (codes.reshape(-1, n) != codes[:n]).any()):
        yield "its rows have different counters"
    found = names[:n].to_pylist()
    if len({*found, *SCHEMA_WITH_KEYS.names, "point"}) < len(found) + len(SCHEMA_WITH_KEYS) + 1:
        yield "its counters have reserved names"
