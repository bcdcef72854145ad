"""One part of a study, done: its runs as a table, and the table as the bytes of a Parquet file.

The bytes depend on the part and on nothing else: not on the worker, the machine's load or the clock. A run
that raises becomes a row with its error, and the others go on.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.arrays import Floats
from heavytail.studies.backends.backend import Failed, RunCurve, RunResult, WorkContext, failure
from heavytail.studies.plan import Part
from heavytail.studies.specs.spec import canonical

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def run_part(part: Part, desk: WorkContext | None = None) -> bytes:
    """Run it."""
    return part_to_parquet(part, list(_outcomes(part, desk or WorkContext.bare())))


def part_to_parquet(part: Part, outcomes: Sequence[RunResult]) -> bytes:
    """The file of a part whose runs came to this."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(to_table(part, outcomes), out, compression="zstd")
    return out.getvalue()


def to_table(part: Part, outcomes: Sequence[RunResult]) -> "pa.Table":
    """The curves of all runs, one row per checkpoint.

    Cumulative rewards, and regret against the best policy. A run that failed has one row, with its error.
    """
    import pyarrow as pa

    lengths = [1 if isinstance(each, Failed) else len(each.at) for each in outcomes]
    row = np.repeat(np.arange(len(outcomes)), lengths)  # whose it is

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
        "at": np.concatenate(
            [np.zeros(1, np.int64) if isinstance(each, Failed) else each.at for each in outcomes]
        ),
        "mean_reward": _numbers(outcomes, lambda curve: curve.mean_reward),
        "realised_reward": _numbers(outcomes, lambda curve: curve.realised_reward),
        "regret": _numbers(outcomes, lambda curve: curve.regret),
        "counters": _counters(outcomes),
        "error": of_runs([each.error if isinstance(each, Failed) else None for each in outcomes]),
    }
    return pa.table(
        {
            name: pa.array(columns[name]).cast(kind)
            for name, kind in zip(schema().names, schema().types, strict=True)
        },
        schema=schema(),
    )


def _numbers(outcomes: Sequence[RunResult], read: Callable[[RunCurve], Floats | None]) -> "pa.Array":
    """A number of every row, none where it is not known."""
    import pyarrow as pa

    found = [None if isinstance(each, Failed) else read(each) for each in outcomes]
    lengths = [1 if isinstance(each, Failed) else len(each.at) for each in outcomes]
    values = [np.zeros(n) if each is None else each for each, n in zip(found, lengths, strict=True)]
    missing = np.repeat([each is None for each in found], lengths)
    return pa.array(np.concatenate(values), pa.float64(), mask=missing)


def _counters(outcomes: Sequence[RunResult]) -> "pa.Array":
    """What was counted by every row, as pairs of a name and a number."""
    import pyarrow as pa

    names, values, lengths = list[str](), list[Floats](), list[int]()
    for each in outcomes:
        if isinstance(each, Failed):
            lengths.append(0)
            continue
        rows, counted = len(each.at), list(each.counters)
        names += counted * rows
        lengths += [len(counted)] * rows
        values += (
            [np.column_stack([each.counters[name] for name in counted]).reshape(-1).astype(np.float64)]
            if counted
            else []
        )
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.MapArray.from_arrays(
        offsets, pa.array(names, pa.string()), pa.array(np.concatenate([np.zeros(0), *values]), pa.float64())
    )


def schema() -> "pa.Schema":
    """The columns of a part. `at` counts episodes, or steps in a continuing problem."""
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


def to_frame(table: "pa.Table") -> "pd.DataFrame":
    """The curves of some parts with counters as columns."""
    import pandas as pd

    frame = table.to_pandas()
    counters = pd.DataFrame([dict(pairs) for pairs in frame.pop("counters")], index=frame.index)
    return pd.concat([frame, counters], axis=1)


def _outcomes(part: Part, desk: WorkContext) -> Iterator[RunResult]:
    try:
        backend = part.backend
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
        yield from [failure(error)] * len(part.runs)
    else:
        yield from backend.outcomes(part, desk)
