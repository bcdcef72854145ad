"""The summary of sweeps: one small Parquet file with a row for every point in every environment.

It names what it was made from, the ids of all parts; while these are the ones of the plan, the parts
themselves are not needed. So results are published without their hundred megabytes of curves.
"""

import io
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from heavytail.arrays import Floats
from heavytail.statistics.heavy import quantile
from heavytail.studies.part_checks import is_sidecar
from heavytail.studies.plan import Sweep
from heavytail.studies.provenance import PER_PART
from heavytail.studies.specs.spec import canonical
from heavytail.studies.sweeps.final_values import FinalValues, final_values

if TYPE_CHECKING:
    import pandas as pd

KEY = b"heavytail"  # of the metadata of the table
LEVELS = {"q10": 0.1, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9}
# columns beside those of the points, the error and the counters
NUMBERS = (
    *("runs", "failures", "first_failed", "best", "regret_share", "last_tenth"),
    *(f"regret_{name}" for name in LEVELS),
)
COUNTER = "counter_"  # begins the names of columns of counters


class Summary(NamedTuple):
    """The summary of all sweeps of a study."""

    table: pa.Table  # a row for every point of every sweep in every environment
    command: str  # that computed its runs
    sidecars: list[dict[str, Any]]  # who computed them: sidecars that say the same, added up

    def failures(self) -> "pd.DataFrame":
        """The first run that raised of each point, as `Study.failures` has them."""
        import pandas as pd

        failed = self.table.filter(self.table["error"].is_valid()).to_pylist()
        names = {"agent_key": "map", "env_key": "env", "replicate": "first_failed", "error": "error"}
        rows = [
            {name: row[column] for name, column in names.items()}
            | {"point": canonical(_point(row)), "phase": "map"}
            for row in failed
        ]
        return pd.DataFrame(rows, columns=[*names, "point", "phase"])


def _point(row: Mapping[str, Any]) -> dict[str, float]:
    """The point of a row: its axes stand between the environment and the number of runs."""
    names = list(row)
    return {
        name: row[name]
        for name in names[names.index("env") + 1 : names.index("runs")]
        if row[name] is not None
    }


def sweep_digest(sweeps: Sequence[Sweep]) -> str:
    """A digest of the parts of all sweeps."""
    return sha256("\n".join(part.id for sweep in sweeps for part in sweep.parts).encode()).hexdigest()[:20]


def summarise_sweeps(
    sweeps: Iterable[Sweep],
    read: Callable[[Sweep], Iterable[pa.Table]],
    command: str,
    sidecars: Sequence[Mapping[str, Any]],
) -> Summary:
    """Summarise sweeps whose parts are done.

    Args:
        sweeps: every sweep in every environment.
        read: gives the tables of a sweep's parts.
        command: that computed them.
        sidecars: of all parts.
    """
    rows = [_rows(sweep, final_values(sweep, read(sweep))) for sweep in sweeps]
    return Summary(pa.concat_tables(rows, promote_options="default"), command, _merge(sidecars))


def _rows(sweep: Sweep, values: FinalValues) -> pa.Table:
    points = np.array(list(itertools.product(*sweep.axes.values())))
    part, n, shape = sweep.parts[0], len(points), (-1, sweep.seeds)  # values are [point, seed]
    best = part.backend.best(np.array([part.units]))
    assert best is not None  # sweeps are of tabular agents, where it is known
    regret = values.regret.reshape(shape)
    quantiles = {name: _quantile(regret, level) for name, level in LEVELS.items()}
    errors = [values.errors[i * sweep.seeds : (i + 1) * sweep.seeds] for i in range(n)]
    first_failed = [next((r for r, e in enumerate(each) if e is not None), None) for each in errors]
    return pa.table(
        {
            "map": [sweep.agent] * n,
            "env": [sweep.env] * n,
            **{name: points[:, i] for i, name in enumerate(sweep.axes)},
            "runs": np.full(n, sweep.seeds),
            "failures": np.isnan(regret).sum(axis=1),
            "first_failed": pa.array(first_failed, pa.int64()),
            "error": pa.array([next(filter(None, each), None) for each in errors], pa.string()),
            "best": np.full(n, best[0]),  # what the best policy earns in a run
            **{f"regret_{name}": quantile for name, quantile in quantiles.items()},
            "regret_share": quantiles["median"] / best[0],
            "last_tenth": _quantile(values.last_tenth.reshape(shape), 0.5),
            **{
                f"{COUNTER}{name}": _quantile(counted.reshape(shape), 0.5)
                for name, counted in values.counters.items()
            },
        }
    )


def _quantile(values: Floats, level: float) -> Floats:
    """The quantile over the complete runs of each point; NaN if there are none.

    >>> _quantile(np.array([[1.0, 2.0, 3.0], [np.nan, 5.0, np.nan], [np.nan] * 3]), 0.5)
    array([ 2.,  5., nan])
    """
    done = ~np.isnan(values)
    all_done, quantiles = done.all(axis=1), np.full(len(values), np.nan)
    if all_done.any():
        quantiles[all_done] = quantile(values[all_done].T, level)
    for i in np.flatnonzero(done.any(axis=1) & ~all_done):
        quantiles[i] = quantile(values[i, done[i]], level)
    return quantiles


# The file


def with_metadata(summary: Summary, digest: str) -> pa.Table:
    """The table of a summary, with what it was made from."""
    made_from = {
        "digest": digest,
        "values": _checksum(summary.table),
        "command": summary.command,
        "pages": summary.sidecars,
    }
    return summary.table.replace_schema_metadata({KEY: canonical(made_from)})


def to_parquet(table: pa.Table) -> bytes:
    """The bytes of the file."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def from_table(table: pa.Table, sweeps: Sequence[Sweep]) -> Summary | None:
    """The summary that a table holds; None if it was made from other parts than these, or is damaged."""
    try:
        made_from = json.loads((table.schema.metadata or {})[KEY])
        summary = Summary(table, made_from["command"], made_from["pages"])
        fits = made_from["digest"] == sweep_digest(sweeps) and made_from["values"] == _checksum(table)
        return summary if fits and _is_summary(summary, sweeps) else None
    except (pa.ArrowException, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_summary(summary: Summary, sweeps: Sequence[Sweep]) -> bool:
    """Tell whether a summary has the form of one of these sweeps: its points, and numbers beside them."""
    table, axes = summary.table, dict.fromkeys(name for sweep in sweeps for name in sweep.axes)
    points = [
        {
            "map": sweep.agent,
            "env": sweep.env,
            **dict.fromkeys(axes),
            **dict(zip(sweep.axes, values, strict=True)),
        }
        for sweep in sweeps
        for values in itertools.product(*sweep.axes.values())
    ]
    if table.select(["map", "env", *axes]).to_pylist() != points:
        return False
    columns = {name: table.schema.field(name).type for name in table.column_names}
    others = [name for name in columns if name not in ("map", "env", *axes, *NUMBERS, "error")]
    numeric = all(
        pa.types.is_floating(columns[name]) or pa.types.is_integer(columns[name])
        for name in (*NUMBERS, *others)
    )
    known = len(table.column_names) == len(columns) and all(name.startswith(COUNTER) for name in others)
    told = isinstance(summary.command, str) and isinstance(summary.sidecars, list)
    return (
        numeric
        and known
        and told
        and pa.types.is_string(columns["error"])
        and all(map(is_sidecar, summary.sidecars))
    )


def _checksum(table: pa.Table) -> str:
    """A checksum of the values, since Parquet's own leaves much of a file uncovered."""
    return sha256(json.dumps(table.to_pydict()).encode()).hexdigest()[:20]


def _merge(sidecars: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Merge sidecars that are equal but for what is of one part only; add their seconds, count them.

    >>> _merge([{"host": "a", "seconds": 1.0, "sha256": "x"}, {"host": "a", "seconds": 2.0, "sha256": "y"}])
    [{'host': 'a', 'parts': 2, 'seconds': 3.0}]
    """
    merged: dict[str, dict[str, Any]] = {}
    for sidecar in sidecars:
        same = {key: value for key, value in sidecar.items() if key not in PER_PART}
        total = merged.setdefault(canonical(same), {**same, "parts": 0, "seconds": 0.0})
        total["parts"] += 1
        total["seconds"] += sidecar.get("seconds", 0.0)
    return list(merged.values())
