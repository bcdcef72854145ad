"""Compute one part of a study: its runs as a table, and the table as the bytes of a Parquet file.

The bytes depend on the part and on nothing else: not on the worker, the machine's load or the clock. A run
that raises becomes a row with its error, and the others go on.
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.studies.backends.backend import Failed, RunCurve, RunResult, WorkContext, failure
from heavytail.studies.plan import Part
from heavytail.studies.specs.spec import canonical

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

KEY_COLUMNS = ("agent_key", "env_key")  # for other readers; heavytail takes them from the spec


def run_part(part: Part, context: WorkContext | None = None) -> bytes:
    """Compute a part, and return the bytes of its file."""
    return part_to_parquet(part, list(_run(part, context or WorkContext.bare())))


def part_to_parquet(part: Part, results: Sequence[RunResult]) -> bytes:
    """The bytes of the file of a part with these results, run by run."""
    return table_to_parquet(to_table(part, results))


def table_to_parquet(table: "pa.Table") -> bytes:
    """The bytes of the file of a part with this table."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def to_table(part: Part, results: Sequence[RunResult]) -> "pa.Table":
    """Make the table of all runs, one row per checkpoint.

    Cumulative rewards, and regret against the best policy. A run that failed has one row, with its error.
    """
    import pyarrow as pa

    row = np.repeat(np.arange(len(results)), _lengths(results))  # the run of each row

    def of_runs(values: Sequence[Any]) -> "pa.Array":
        return pa.array(values).take(pa.array(row))

    def same(value: str) -> "pa.Array":
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
            for name, kind in zip(schema().names, schema().types, strict=True)
        },
        schema=schema(),
    )
    return with_keys(table, part)


def with_keys(table: "pa.Table", part: Part) -> "pa.Table":
    """Add the columns `KEY_COLUMNS` to the table of a part: what the spec calls agent and environment."""
    import pyarrow as pa

    run = table["run"].combine_chunks().dictionary_encode().indices  # runs are one behind the other
    for name, keys in zip(KEY_COLUMNS, zip(*part.run_keys, strict=True), strict=False):
        table = table.append_column(name, pa.array(keys, pa.string()).take(run))
    return table


def _lengths(results: Sequence[RunResult]) -> list[int]:
    """Count the rows of each run."""
    return [1 if isinstance(result, Failed) else len(result.at) for result in results]


def _numbers(results: Sequence[RunResult], read: Callable[[RunCurve], Floats | None]) -> "pa.Array":
    """A number for every row; null where it is unknown."""
    import pyarrow as pa

    curves, lengths = [None if isinstance(r, Failed) else read(r) for r in results], _lengths(results)
    values = [np.zeros(n) if curve is None else curve for curve, n in zip(curves, lengths, strict=True)]
    missing = np.repeat([curve is None for curve in curves], lengths)
    return pa.array(np.concatenate(values), pa.float64(), mask=missing)


def _counters(results: Sequence[RunResult]) -> "pa.Array":
    """The counters of every row, as pairs of a name and a number."""
    import pyarrow as pa

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


def schema() -> "pa.Schema":
    """The columns of a part, before `KEY_COLUMNS`; `at` counts episodes, or steps in a continuing problem."""
    import pyarrow as pa

    return pa.schema(
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


def schema_with_keys() -> "pa.Schema":
    """The columns of the file of a part; older ones are without keys."""
    import pyarrow as pa

    return pa.schema([*schema(), *((name, pa.string()) for name in KEY_COLUMNS)])


def to_frame(table: "pa.Table") -> "pd.DataFrame":
    """The curves of some parts as a DataFrame, with counters as columns."""
    import pandas as pd

    frame = table.drop_columns("counters").to_pandas()
    return pd.concat([frame, pd.DataFrame(counters_of(table), index=frame.index)], axis=1)


def counters_of(table: "pa.Table") -> dict[str, Floats]:
    """The counters of all rows by their names; NaN in rows that have none of the name."""
    names, values, counts = flat_counters(table)
    row = np.repeat(np.arange(len(table)), counts)
    columns = {}
    for code, name in enumerate(names.dictionary.to_pylist()):
        here = names.indices.to_numpy() == code
        columns[name] = np.full(len(table), np.nan)
        columns[name][row[here]] = values[here]
    return columns


def flat_counters(table: "pa.Table") -> tuple["pa.DictionaryArray", Floats, Ints]:
    """The names and the values of all counters, row by row, and how many each row has.

    Of a slice, Arrow itself would convert all that it is a slice of.
    """
    import pyarrow as pa

    pairs = pa.concat_arrays([pa.array([], table.schema.field("counters").type), *table["counters"].chunks])
    offsets = pairs.offsets.to_numpy()
    here = slice(offsets[0], offsets[-1])
    values = pairs.items[here].to_numpy(zero_copy_only=False)
    return pairs.keys[here].dictionary_encode(), values, np.diff(offsets)


def values_digest(table: "pa.Table") -> str:
    """A digest of the names and values of all columns, in whichever way they are stored."""
    import pyarrow as pa

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


def _words_to_bytes(words: "pa.DictionaryArray") -> bytes:
    indices: bytes = words.indices.fill_null(-1).to_numpy().tobytes()
    return indices + json.dumps(words.dictionary.to_pylist()).encode()


def _run(part: Part, context: WorkContext) -> Iterator[RunResult]:
    try:
        backend = part.backend
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
        yield from [failure(error)] * len(part.runs)
    else:
        yield from backend.run(part, context)
