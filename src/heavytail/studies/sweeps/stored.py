"""The summary of sweeps in a study's store: read, made of their parts, and written."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heavytail.studies.plan import Sweep, unique_parts
from heavytail.studies.stages import Stage, find_stage, finished_parts
from heavytail.studies.store import SWEEPS, Store
from heavytail.studies.sweeps.final_values import COLUMNS
from heavytail.studies.sweeps.summary import (
    Summary,
    from_table,
    summarise_sweeps,
    sweep_digest,
    to_parquet,
    with_metadata,
)

if TYPE_CHECKING:
    import pyarrow as pa


def read_summary(store: Store, sweeps: Sequence[Sweep]) -> Summary | None:
    """Return the summary in the store, if it was made from what the plan says."""
    table = store.read_sweeps()
    return None if table is None else from_table(table, sweeps)


def find_sweep_stage(store: Store, sweeps: list[Sweep]) -> Stage:
    """Look which parts of sweeps are missing: none where there is a summary of them."""
    if read_summary(store, sweeps) is None:
        return find_stage(store, "map", sweeps)
    return Stage("map", sweeps, unique_parts(sweeps), [], {})


def make_summary(store: Store, sweeps: list[Sweep], command: str = "") -> Summary:
    """Summarise the parts in the store, which `command` computed."""
    sidecars = store.sidecars(finished_parts(store, "map", sweeps))
    return summarise_sweeps(sweeps, lambda sweep: store.columns(sweep.parts, COLUMNS), command, sidecars)


def write_summary(store: Store, sweeps: list[Sweep], command: str) -> None:
    """Write the summary, if it is not there."""
    if read_summary(store, sweeps) is None:
        store.write_file(SWEEPS, to_parquet(to_table(make_summary(store, sweeps, command), sweeps)))


def to_table(summary: Summary, sweeps: Sequence[Sweep]) -> "pa.Table":
    """Return the table of a summary, which says from which sweeps it was made."""
    return with_metadata(summary, sweep_digest(sweeps))
