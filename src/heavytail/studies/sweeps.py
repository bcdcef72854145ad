"""Sweeps: an agent at every point of a fine grid, summarised in one small Parquet file.

The file has a row for every point in every environment. It names the ids of all parts it was made from; as
long as these are the ones of the plan, the parts themselves are not needed. So results are published without
their hundred megabytes of curves.
"""

import io
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.statistics.heavy import quantile
from heavytail.studies.backends import backend_of
from heavytail.studies.part import Part
from heavytail.studies.part_table import DAMAGE, counters_of, is_sidecar, values_digest
from heavytail.studies.plan import Sweep, unique_parts
from heavytail.studies.provenance import PER_PART
from heavytail.studies.results import LAST_TENTH
from heavytail.studies.specs.spec import canonical
from heavytail.studies.store import SWEEPS, Stage, Store, find_stage, finished_parts

if TYPE_CHECKING:
    import pandas as pd

READ = ("run", "replicate", "at", "mean_reward", "regret", "counters", "error")  # columns of parts
KEY = b"heavytail"  # of the metadata of the table
LEVELS = {"q10": 0.1, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9}
# columns beside those of the points, the error and the counters
NUMBERS = (
    *("runs", "failures", "first_failed", "best", "regret_share", "last_tenth"),
    *(f"regret_{name}" for name in LEVELS),
)
COUNTER = "counter_"  # prefix of columns of counters


class Summary(NamedTuple):
    """The summary of all sweeps of a study."""

    table: pa.Table  # a row for every point of every sweep in every environment
    command: str  # that computed its runs
    sidecars: list[dict[str, Any]]  # who computed them: equal sidecars, added up

    def failures(self) -> "pd.DataFrame":
        """Return the first run that raised at each point, in the format of `Study.failures`."""
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
    """Return the point of a row: its axes stand between the environment and the number of runs."""
    names = list(row)
    return {
        name: row[name]
        for name in names[names.index("env") + 1 : names.index("runs")]
        if row[name] is not None
    }


# In a store


def find_sweep_stage(store: Store, sweeps: list[Sweep]) -> Stage:
    """Find which parts of sweeps are missing: none if there is a summary of them."""
    if read_summary(store, sweeps) is None:
        return find_stage(store, "map", sweeps)
    return Stage("map", sweeps, unique_parts(sweeps), [], {})


def read_summary(store: Store, sweeps: Sequence[Sweep]) -> Summary | None:
    """Return the summary in the store, if it was made from the plan's parts."""
    table = store.read_sweeps()
    return None if table is None else from_table(table, sweeps)


def write_summary(store: Store, sweeps: list[Sweep], command: str) -> None:
    """Write the summary, if it is not there."""
    if read_summary(store, sweeps) is None:
        out = io.BytesIO()
        pq.write_table(to_table(make_summary(store, sweeps, command), sweeps), out, compression="zstd")
        store.write_file(SWEEPS, out.getvalue())


def make_summary(store: Store, sweeps: list[Sweep], command: str = "") -> Summary:
    """Summarise the parts in the store, which `command` computed."""
    sidecars = store.sidecars(finished_parts(store, "map", sweeps))
    rows = [_summarise(sweep, store.columns(sweep.parts, READ)) for sweep in sweeps]
    return Summary(pa.concat_tables(rows, promote_options="default"), command, _merge(sidecars))


def _merge(sidecars: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Merge sidecars that are equal except for fields of a single part; add their seconds, count them.

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


# The numbers


def _summarise(sweep: Sweep, tables: Iterable[pa.Table]) -> pa.Table:
    """Compute the rows of a sweep, given the tables of its parts."""
    ends = [_run_ends(part, table) for part, table in zip(sweep.parts, tables, strict=True)]
    values = pa.concat_tables(ends, promote_options="default")
    points = np.array(list(itertools.product(*sweep.axes.values())))
    part, n = sweep.parts[0], len(points)
    best = backend_of(part).best(np.array([part.units]))
    assert best is not None  # sweeps are of tabular agents, where it is known

    def by_point(column: str) -> Floats:
        return np.asarray(values[column].to_numpy(), np.float64).reshape(n, sweep.seeds)

    regret, every = by_point("regret"), values["error"].to_pylist()
    quantiles = {name: _quantile(regret, level) for name, level in LEVELS.items()}
    errors = [every[i : i + sweep.seeds] for i in range(0, len(every), sweep.seeds)]
    first = [next((run for run, error in enumerate(each) if error is not None), None) for each in errors]
    return pa.table(
        {
            "map": [sweep.agent] * n,
            "env": [sweep.env] * n,
            **{name: points[:, i] for i, name in enumerate(sweep.axes)},
            "runs": np.full(n, sweep.seeds),
            "failures": np.isnan(regret).sum(axis=1),
            "first_failed": pa.array(first, pa.int64()),
            "error": pa.array([next(filter(None, each), None) for each in errors], pa.string()),
            "best": np.full(n, best[0]),  # what the best policy earns in a run
            **{f"regret_{name}": numbers for name, numbers in quantiles.items()},
            "regret_share": quantiles["median"] / best[0],
            "last_tenth": _quantile(by_point("last_tenth"), 0.5),
            **{
                name: _quantile(by_point(name), 0.5)
                for name in values.column_names
                if name.startswith(COUNTER)
            },
        }
    )


def _run_ends(part: Part, table: pa.Table) -> pa.Table:
    """Return the final values of a part's runs, a row for each; NaN if one failed.

    Rows of a run lie together, the last one is its end. They are read by columns, since there are millions.
    """
    table = table.combine_chunks()
    run = table["run"].combine_chunks().dictionary_encode().indices.to_numpy()
    final = table.take(np.flatnonzero(np.diff(run, append=-1)))
    if final["replicate"].to_pylist() != list(part.replicates):
        raise InputError(
            f"part {part.id} does not hold the right runs; delete it, and heavytail resume computes it again"
        )
    done = np.asarray(final["error"].is_null())
    tenths = np.full(len(done), np.nan)
    tenths[done] = _last_tenths(part, table.filter(table["error"].is_null()), int(done.sum()))
    counters = {f"{COUNTER}{name}": values for name, values in counters_of(final).items()}
    return pa.table({"regret": final["regret"], "last_tenth": tenths, "error": final["error"], **counters})


def _last_tenths(part: Part, table: pa.Table, n_runs: int) -> Floats:
    """Compute the mean reward of complete runs [run] in the last tenth, as a share of the best policy's.

    Cumulative rewards are interpolated linearly between checkpoints.
    """
    if n_runs == 0:
        return np.zeros(0)
    at = table["at"].to_numpy().reshape(n_runs, -1)[0]
    best = backend_of(part).best(at)
    assert best is not None  # sweeps are of tabular agents, where it is known
    weights = _gained_weights(at, *LAST_TENTH)
    rewards = table["mean_reward"].to_numpy().reshape(n_runs, -1)
    return np.asarray(rewards @ weights / (best @ weights))


def _gained_weights(at: Ints, first: float, last: float) -> Floats:
    """Return weights of cumulative sums that give the gain from one share of the run to another.

    >>> _gained_weights(np.array([50, 100]), 0.9, 1.0).round(3)
    array([-0.2,  0.2])
    """
    known = np.concatenate([[0], at])
    return np.array(
        [
            np.diff(np.interp([first * at[-1], last * at[-1]], known, unit))[0]
            for unit in np.eye(len(known))[1:]
        ]
    )


def _quantile(values: Floats, level: float) -> Floats:
    """Compute the quantile over the complete runs of each point; NaN if there are none.

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


def to_table(summary: Summary, sweeps: Sequence[Sweep]) -> pa.Table:
    """Return the table of a summary, with its sources."""
    made_from = {
        "digest": sweep_digest(sweeps),
        "values": values_digest(summary.table),
        "command": summary.command,
        "pages": summary.sidecars,
    }
    return summary.table.replace_schema_metadata({KEY: canonical(made_from)})


def from_table(table: pa.Table, sweeps: Sequence[Sweep]) -> Summary | None:
    """Return the summary in a table; None if it was made from other parts than these, or is damaged."""
    try:
        made_from = json.loads((table.schema.metadata or {})[KEY])
        summary = Summary(table, made_from["command"], made_from["pages"])
        fits = made_from["digest"] == sweep_digest(sweeps) and made_from["values"] == values_digest(table)
        return summary if fits and _is_summary(summary, sweeps) else None
    except DAMAGE:
        return None


def _is_summary(summary: Summary, sweeps: Sequence[Sweep]) -> bool:
    """Return whether a summary has the form of these sweeps: their points, and numbers beside them."""
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


def sweep_digest(sweeps: Sequence[Sweep]) -> str:
    """Compute a digest of the parts of all sweeps."""
    return sha256("\n".join(part.id for sweep in sweeps for part in sweep.parts).encode()).hexdigest()[:20]
