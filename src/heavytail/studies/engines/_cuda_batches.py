"""Batches of lanes: runs that go to a GPU together.

Lanes of a batch have the same compiled combination, length and checkpoints, and agents and MDPs of the same
shape; they differ in numbers and in their seed. A batch holds as many as fit into memory, and whole parts if
possible: when it ends, they are done.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from heavytail.arrays import Ints, Record
from heavytail.kernels.rng import Streams, streams
from heavytail.mdp.changing import ChangingMDP
from heavytail.registry import find
from heavytail.studies.backends import backend_of
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.part import Part, Run
from heavytail.studies.specs.spec import canonical
from heavytail.training.lanes.batch import Lanes
from heavytail.training.lanes.layout import Deduplicated, deduplicate, record_shape


class LaneRun(NamedTuple):
    """One run, and its initial agent."""

    part: Part
    place: int  # of the run in its part
    run: Run
    agent: Record


class LaneBatch(NamedTuple):
    """Runs that go to the GPU together."""

    lanes: tuple[LaneRun, ...]

    def __str__(self) -> str:
        envs = dict.fromkeys(lane.part.env for lane in self.lanes)
        return f"{self.lanes[0].part.agent} on {', '.join(envs)}, {len(self.lanes):,} lanes"

    @property
    def at(self) -> Ints:
        """Their checkpoints."""
        part = self.lanes[0].part
        return backend_of(part).checkpoints(part)

    def begin(self) -> Lanes:
        """Put all lanes on the GPU, before their first step."""
        agents = deduplicate([lane.agent for lane in self.lanes], [id(lane.agent) for lane in self.lanes])
        mdp = deduplicate(
            [_mdp(lane.part) for lane in self.lanes], [lane.part.environment for lane in self.lanes]
        )
        seeds = [(lane.part.seed, lane.part.phase, lane.run.replicate) for lane in self.lanes]
        lanes = deduplicate(list(self.lanes), seeds)
        streams_of_lanes = Deduplicated([_streams(lane) for lane in lanes.unique], lanes.which)
        return Lanes(agents, mdp, streams_of_lanes, self.at)


def lane_batches(parts: Sequence[Part], max_lanes: int) -> Iterator[LaneBatch]:
    """Yield all runs of these parts, at most `max_lanes` at a time; lazily, since agents take memory."""
    for group in _group_by(parts, _in_common):
        lanes = list(_lanes(group))
        for alike in _group_by(lanes, lambda lane: repr(record_shape(lane.agent))):
            yield from split_batches(alike, max_lanes)


def _in_common(part: Part) -> str:
    """Return a key that parts must share to run together."""
    mdp = _mdp(part)
    shapes = [repr(record_shape(mdp)) for mdp in mdp.played]
    return canonical(
        [part.combination, part.units, part.checkpoints, part.spacing, part.regret, mdp.at, shapes]
    )


def split_batches(lanes: Sequence[LaneRun], max_lanes: int) -> Iterator[LaneBatch]:
    """Yield batches of at most `max_lanes` lanes; only a part with more runs than that is split."""
    piece: list[LaneRun] = []
    for part in _group_by(lanes, lambda lane: lane.part.id):
        if piece and len(piece) + len(part) > max_lanes:
            yield _by_seed(piece)
            piece = []
        piece += part
        while len(piece) > max_lanes:
            yield _by_seed(piece[:max_lanes])
            piece = piece[max_lanes:]
    if piece:
        yield _by_seed(piece)


def _by_seed(lanes: Sequence[LaneRun]) -> LaneBatch:
    """Return a batch in the order of seeds.

    Lanes with the same seed meet the same transitions: side by side they are in the same states more often,
    and read the same memory.
    """
    return LaneBatch(tuple(sorted(lanes, key=lambda lane: lane.run.replicate)))


def _lanes(parts: Sequence[Part]) -> Iterator[LaneRun]:
    agents: dict[tuple[tuple[str, str], str], Record] = {}
    for part in parts:
        try:
            yield from [
                LaneRun(part, place, run, _agent(part, run, agents)) for place, run in enumerate(part.runs)
            ]
        except Exception:  # noqa: BLE001, S112 - a run of the part cannot begin: processes will say why
            continue


def _agent(part: Part, run: Run, known: dict[tuple[tuple[str, str], str], Record]) -> Record:
    key = part.environment, canonical(run.parameters)
    if key not in known:
        known[key] = find("agent", part.agent).builder(_tabular(part).problem, **run.parameters)
    return known[key]


def _tabular(part: Part) -> TabularBackend:
    return cast("TabularBackend", backend_of(part))


def _mdp(part: Part) -> ChangingMDP:
    return _tabular(part).mdp_for(part)


def _streams(lane: LaneRun) -> Streams:
    return streams(lane.part.seed_for(lane.run.replicate))


def _group_by(things: Sequence[Any], key: Any) -> Iterator[list[Any]]:
    """Group things by key, in the order in which keys are first met."""
    groups: dict[str, list[Any]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    yield from groups.values()
