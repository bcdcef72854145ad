"""Stages of a study: the parts of each phase, and which of them its store lacks."""

from typing import NamedTuple

from heavytail.errors import InputError
from heavytail.studies.plan import Cell, Part, Phase, Sweep, unique_parts
from heavytail.studies.store import Store

NOT_DAMAGED = ("missing", "unfinished")  # what is wrong with parts that are still to be computed


class Stage(NamedTuple):
    """A phase of a study: its cells, its parts, and those that are missing."""

    phase: Phase
    cells: list[Cell] | list[Sweep]
    parts: list[Part]
    missing: list[Part]
    damaged: dict[str, str]  # part id -> what is wrong


def find_stage(store: Store, phase: Phase, cells: list[Cell] | list[Sweep]) -> Stage:
    """Look which parts of a phase the store has."""
    parts = unique_parts(cells)
    problems = {part.id: problem for part in parts if (problem := store.integrity_problem(part))}
    damaged = {name: what for name, what in problems.items() if what not in NOT_DAMAGED}
    return Stage(phase, cells, parts, [part for part in parts if part.id in problems], damaged)


def finished_parts(store: Store, phase: Phase, cells: list[Cell] | list[Sweep]) -> list[Part]:
    """List all parts of a phase; an error if the store lacks any."""
    stage = find_stage(store, phase, cells)
    if stage.missing:
        done, every = len(stage.parts) - len(stage.missing), len(stage.parts)
        raise InputError(f"{store.folder}: {done} of {every} parts of the {phase} are done; {store.advice()}")
    return stage.parts
