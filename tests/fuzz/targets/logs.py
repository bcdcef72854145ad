"""Logs: tables of transitions with odd columns, values and bytes, as CSV and as Parquet.

They are diagnosed by their columns, and made into an MDP.
"""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from typer.testing import CliRunner

import heavytail as ht
from fuzz.mutation import Generator, mutate_array, mutate_bytes, odd_value
from heavytail.cli import app
from heavytail.errors import InputError

SHARE = 1
ROWS = 200  # of which a group is large enough to be diagnosed
COLUMNS: dict[str, Any] = {"state": "state", "action": "action", "reward": "reward", "next_state": "then"}


def start(folder: Path) -> Callable[[Generator], None]:
    """Read a log of each kind as it is, so that all is imported."""
    for as_csv in (True, False):
        path = folder / "log"
        path.write_bytes(to_bytes(make_log(), as_csv=as_csv))
        diagnose(path, [])
        ht.mdp_from_log(path, **COLUMNS, horizon=5, unvisited="stay")
    return partial(try_one, folder / "log")


def make_log() -> pa.Table:
    """Make a log of four states and two actions."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "state": [f"s{i % 4}" for i in range(ROWS)],
            "action": rng.integers(2, size=ROWS),
            "reward": rng.standard_t(1.5, size=ROWS),
            "then": [f"s{(i + 1) % 4}" for i in range(ROWS)],
            "end": rng.random(ROWS) < 0.1,
        }
    )


def to_bytes(table: pa.Table, *, as_csv: bool) -> bytes:
    """Return the bytes of a file."""
    out = io.BytesIO()
    (pyarrow.csv.write_csv if as_csv else pq.write_table)(table, out)
    return out.getvalue()


def try_one(path: Path, rng: Generator) -> None:
    """Write a log with something wrong in it, and read it."""
    table = make_log()
    for _ in range(int(rng.geometric(0.6))):
        table = _mutate_column(table, rng)
    try:
        content = to_bytes(table, as_csv=bool(rng.random() < 0.5))
    except pa.ArrowException:  # what cannot be written
        content = to_bytes(make_log(), as_csv=True)
    path.write_bytes(mutate_bytes(content, rng) if rng.random() < 0.4 else content)
    if rng.random() < 0.5:
        by = [name for name in ("state", "action", "end") if rng.random() < 0.4]
        words = ["--by", ",".join(by)] if by else []
        diagnose(path, words + [word for word in ("--skip-empty", "--json") if rng.random() < 0.3])
    else:
        more: dict[str, Any] = {"terminated": "end"} if rng.random() < 0.3 else {}
        ht.mdp_from_log(path, **COLUMNS, **more, horizon=5, unvisited="end" if rng.random() < 0.5 else "stay")


def _mutate_column(table: pa.Table, rng: Generator) -> pa.Table:
    at = int(rng.integers(table.num_columns))
    name, column = table.column_names[at], table.column(at)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # an earlier change
        return table
    match int(rng.integers(4)):
        case 0:
            return table.remove_column(at) if table.num_columns > 1 else table
        case 1 if any(isinstance(value, str) for value in values):  # no UTF-8, in a Parquet file
            damaged = [mutate_bytes(value.encode(), rng) for value in values if isinstance(value, str)]
            column = pa.array((damaged or [b""]) * len(table), pa.binary())[: len(table)]
            return table.set_column(at, name, column.view(pa.string()))
        case 1:
            numbers = [float(value) for value in values if isinstance(value, int | float)]
            values = mutate_array(np.array(numbers), rng).reshape(-1).tolist()
            values = (values * len(table))[: len(table)] or [None] * len(table)
        case 2:
            values = [odd_value(values[0], rng)] * len(table)
        case _:
            for place in rng.integers(len(table), size=int(rng.geometric(0.5))):
                values[place] = odd_value(values[place], rng)
    try:
        return table.set_column(at, name, pa.array(values))
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
        return table.set_column(at, name, pa.array([str(value)[:50] for value in values]))


def diagnose(path: Path, options: list[str]) -> None:
    """Diagnose the rewards of a log."""
    done = CliRunner().invoke(app, ["diagnose", str(path), *options])
    if done.exit_code == 2:
        raise InputError(done.stderr.strip().removeprefix("heavytail: "))
    if done.exception is not None:
        raise done.exception
