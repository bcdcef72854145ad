"""One part of a study, done: its runs as a table, and the table as the bytes of a Parquet file.

The bytes depend on the part and on nothing else: not on the worker, the machine's load or the clock. A run that raises becomes a row with its error, and the others go on.
"""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.studies.plan import Part, Run
from heavytail.studies.spec import canonical
from heavytail.studies.worlds import Desk, Failed, Outcome, failure

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def do_part(part: Part, desk: Desk | None = None) -> bytes:
    """Run it."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table_of(part, desk), out, compression="zstd")
    return out.getvalue()


def table_of(part: Part, desk: Desk | None = None) -> "pa.Table":
    """The curves of all runs, one row per checkpoint; cumulative rewards, and regret against the best policy."""
    import pyarrow as pa

    rows: dict[str, list[Any]] = {name: [] for name in schema().names}
    for run, outcome in zip(part.runs, _outcomes(part, desk or Desk.bare()), strict=True):
        for row in _rows(part, run, outcome):
            for name, value in row.items():
                rows[name].append(value)
    return pa.table(rows, schema=schema())


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


def frame_of(table: "pa.Table") -> "pd.DataFrame":
    """The curves of some parts with counters as columns."""
    import pandas as pd

    frame = table.to_pandas()
    counters = pd.DataFrame([dict(pairs) for pairs in frame.pop("counters")], index=frame.index)
    return pd.concat([frame, counters], axis=1)


def _outcomes(part: Part, desk: Desk) -> Iterator[Outcome]:
    try:
        world = part.world
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
        yield from [failure(error)] * len(part.runs)
    else:
        yield from world.outcomes(part, desk)


def _rows(part: Part, run: Run, outcome: Outcome) -> Iterator[dict[str, Any]]:
    same = {
        "run": run.id,
        "phase": part.phase,
        "env": part.env,
        "env_parameters": canonical(part.env_parameters),
        "agent": part.agent,
        "parameters": canonical(run.parameters),
        "replicate": run.replicate,
    }
    if isinstance(outcome, Failed):
        nothing: dict[str, Any] = {"mean_reward": None, "realised_reward": None, "regret": None, "counters": []}
        yield {**same, "at": 0, **nothing, "error": outcome.error}
        return
    regret, realised = outcome.regret, outcome.realised_reward
    names = list(outcome.counters)
    counters = np.column_stack([outcome.counters[name] for name in names]) if names else np.zeros((len(outcome.at), 0))
    for i in range(len(outcome.at)):
        yield {
            **same,
            "at": int(outcome.at[i]),
            "mean_reward": float(outcome.mean_reward[i]),
            "realised_reward": None if realised is None else float(realised[i]),
            "regret": None if regret is None else float(regret[i]),
            "counters": list(zip(names, counters[i].tolist(), strict=True)),
            "error": None,
        }
