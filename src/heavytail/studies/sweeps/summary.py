"""A map, summed up: one small Parquet file with a row for every point in every environment.

It names what it was made from, the ids of all parts; where it is there and these are still the ones of the
plan, the parts themselves are not needed. So results are published without their hundred megabytes of curves.
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
from heavytail.studies.plan import Sweep
from heavytail.studies.provenance import PER_PART
from heavytail.studies.specs.spec import canonical
from heavytail.studies.sweeps.final_values import FinalValues, by_point, final_values

if TYPE_CHECKING:
    import pandas as pd

KEY = b"heavytail"  # of the metadata of the table
LEVELS = {"q10": 0.1, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9}


class Summary(NamedTuple):
    """Maps, summed up."""

    table: pa.Table  # a row for every point of every map in every environment
    command: str  # with which its runs were done
    sidecars: list[dict[str, Any]]  # who computed them: sidecars that say the same, added up

    def failures(self) -> "pd.DataFrame":
        """The first run that raised of each point, as `Study.failures` has them."""
        import pandas as pd

        lost = self.table.filter(self.table["error"].is_valid()).to_pylist()
        names = {"agent_key": "map", "env_key": "env", "replicate": "first_failed", "error": "error"}
        rows = [
            {name: row[column] for name, column in names.items()}
            | {"point": canonical(_point(row)), "phase": "map"}
            for row in lost
        ]
        return pd.DataFrame(rows, columns=[*names, "point", "phase"])


def _point(row: Mapping[str, Any]) -> dict[str, float]:
    """Where a row is: its axes stand between the environment and the number of runs."""
    names = list(row)
    return {
        name: row[name]
        for name in names[names.index("env") + 1 : names.index("runs")]
        if row[name] is not None
    }


def sweep_digest(sheets: Sequence[Sweep]) -> str:
    """A name for all runs of all maps."""
    return sha256("\n".join(part.id for sheet in sheets for part in sheet.parts).encode()).hexdigest()[:20]


def summarise_sweeps(
    sheets: Iterable[Sweep],
    read: Callable[[Sweep], Iterable[pa.Table]],
    command: str,
    sidecars: Sequence[Mapping[str, Any]],
) -> Summary:
    """Maps whose parts are done.

    Args:
        sheets: every map in every environment.
        read: gives the tables of a sheet's parts.
        command: with which they were done.
        sidecars: of all parts.
    """
    table = pa.concat_tables(
        [_rows(sheet, final_values(sheet, read(sheet))) for sheet in sheets], promote_options="default"
    )
    return Summary(table, command, _added_up(sidecars))


def _rows(sheet: Sweep, ends: FinalValues) -> pa.Table:
    points = np.array(list(itertools.product(*sheet.axes.values())))
    part, n = sheet.parts[0], len(points)
    best = part.backend.best(np.array([part.units]))
    assert best is not None  # maps are of tabular worlds, where everybody knows
    regret = by_point(sheet, ends.regret)
    quantiles = {name: _quantile(regret, level) for name, level in LEVELS.items()}
    errors = [ends.errors[i * sheet.seeds : (i + 1) * sheet.seeds] for i in range(n)]
    return pa.table(
        {
            "map": [sheet.agent] * n,
            "env": [sheet.env] * n,
            **{name: points[:, i] for i, name in enumerate(sheet.axes)},
            "runs": np.full(n, sheet.seeds),
            "failures": np.isnan(regret).sum(axis=1),
            "first_failed": pa.array(
                [next((r for r, e in enumerate(each) if e is not None), None) for each in errors], pa.int64()
            ),
            "error": pa.array([next(filter(None, each), None) for each in errors], pa.string()),
            "best": np.full(n, best[0]),  # what the best policy earns in a run
            **{f"regret_{name}": values for name, values in quantiles.items()},
            "regret_share": quantiles["median"] / best[0],
            "last_tenth": _quantile(by_point(sheet, ends.last_tenth), 0.5),
            **{
                f"counter_{name}": _quantile(by_point(sheet, values), 0.5)
                for name, values in ends.counters.items()
            },
        }
    )


def _quantile(values: Floats, level: float) -> Floats:
    """Over the seeds of each point that came to their end; NaN if none did.

    >>> _quantile(np.array([[1.0, 2.0, 3.0], [np.nan, 5.0, np.nan], [np.nan] * 3]), 0.5)
    array([ 2.,  5., nan])
    """
    there = ~np.isnan(values)
    whole, found = there.all(axis=1), np.full(len(values), np.nan)
    if whole.any():
        found[whole] = quantile(values[whole].T, level)
    for i in np.flatnonzero(there.any(axis=1) & ~whole):
        found[i] = quantile(values[i, there[i]], level)
    return found


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


def from_table(table: pa.Table, digest: str) -> Summary | None:
    """The summary that a table holds; None if it was made from other parts than these, or is damaged."""
    try:
        made_from = json.loads((table.schema.metadata or {})[KEY])
        fits = made_from["digest"] == digest and made_from["values"] == _checksum(table)
        return Summary(table, made_from["command"], made_from["pages"]) if fits else None
    except (pa.ArrowException, ValueError, KeyError, TypeError):
        return None


def _checksum(table: pa.Table) -> str:
    """Of the values, since Parquet's own leaves much of a file uncovered."""
    return sha256(json.dumps(table.to_pydict()).encode()).hexdigest()[:20]


def _added_up(sidecars: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sidecars without what is of one part only, those that say the same as one, with their seconds together and their number.

    >>> _added_up([{"host": "a", "seconds": 1.0, "sha256": "x"}, {"host": "a", "seconds": 2.0, "sha256": "y"}])
    [{'host': 'a', 'parts': 2, 'seconds': 3.0}]
    """
    found: dict[str, dict[str, Any]] = {}
    for page in sidecars:
        same = {key: value for key, value in page.items() if key not in PER_PART}
        total = found.setdefault(canonical(same), {**same, "parts": 0, "seconds": 0.0})
        total["parts"] += 1
        total["seconds"] += page.get("seconds", 0.0)
    return list(found.values())
