"""Which runs go to a GPU together: waves of lanes.

Lanes of one wave have one compiled combination, one length and the same checkpoints, and agents and MDPs of
one shape; they differ in numbers and in their seed. A wave holds as many as fit the memory, and whole parts
where it can: when it ends, they are done.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from heavytail.arrays import Ints, Record
from heavytail.kernels.rng import Streams, streams
from heavytail.registry import find
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.plan import Part, Run
from heavytail.studies.specs.spec import canonical
from heavytail.training.curve import place_checkpoints
from heavytail.training.lanes.batch import Lanes
from heavytail.training.lanes.layout import Deduplicated, deduplicate, record_shape


class LaneRun(NamedTuple):
    """One run, and what it begins with."""

    part: Part
    place: int  # of the run in its part
    run: Run
    agent: Record


class LaneBatch(NamedTuple):
    """Runs that go together."""

    lanes: tuple[LaneRun, ...]

    def __str__(self) -> str:
        envs = dict.fromkeys(lane.part.env for lane in self.lanes)
        return f"{self.lanes[0].part.agent} on {', '.join(envs)}, {len(self.lanes):,} lanes"

    @property
    def at(self) -> Ints:
        """Their checkpoints."""
        part = self.lanes[0].part
        return place_checkpoints(0, part.units, part.checkpoints, part.spacing)

    def begin(self) -> Lanes:
        """All of them at their first moment, on the GPU."""
        agents = deduplicate([lane.agent for lane in self.lanes], [id(lane.agent) for lane in self.lanes])
        mdp = deduplicate(
            [_tabular(lane.part).mdp for lane in self.lanes], [id(lane.part.backend) for lane in self.lanes]
        )
        seeds = [(lane.part.seed, lane.part.phase, lane.run.replicate) for lane in self.lanes]
        which = deduplicate(list(self.lanes), seeds)
        return Lanes(
            agents, mdp, Deduplicated([_streams(lane) for lane in which.unique], which.which), self.at
        )


def lane_batches(parts: Sequence[Part], most: int) -> Iterator[LaneBatch]:
    """All runs of these parts, so many at a time; made when they are wanted, since agents take memory."""
    for group in _together(parts, _in_common):
        lanes = list(_lanes(group))
        for alike in _together(lanes, lambda lane: repr(record_shape(lane.agent))):
            yield from split_batches(alike, most)


def _in_common(part: Part) -> str:
    """What parts must have in common to run together."""
    mdp = _tabular(part).mdp
    shapes = [repr(record_shape(mdp)) for mdp in mdp.mdps]
    return canonical([part.combination, part.units, part.checkpoints, part.spacing, mdp.at, shapes])


def split_batches(lanes: Sequence[LaneRun], most: int) -> Iterator[LaneBatch]:
    """Waves of at most so many lanes; only a part with more runs than that is cut."""
    piece: list[LaneRun] = []
    for part in _together(lanes, lambda lane: lane.part.id):
        if piece and len(piece) + len(part) > most:
            yield _by_seed(piece)
            piece = []
        piece += part
        while len(piece) > most:
            yield _by_seed(piece[:most])
            piece = piece[most:]
    if piece:
        yield _by_seed(piece)


def _by_seed(lanes: Sequence[LaneRun]) -> LaneBatch:
    """Lanes with one seed meet the same transitions.

    Beside each other they are in the same states more often, and read the same words.
    """
    return LaneBatch(tuple(sorted(lanes, key=lambda lane: lane.run.replicate)))


def _lanes(parts: Sequence[Part]) -> Iterator[LaneRun]:
    agents: dict[tuple[int, str], Record] = {}
    for part in parts:
        try:
            yield from [
                LaneRun(part, place, run, _agent(part, run, agents)) for place, run in enumerate(part.runs)
            ]
        except Exception:  # noqa: BLE001, S112 - no lanes for a part that has a run which cannot begin: processes will say why
            continue


def _agent(part: Part, run: Run, known: dict[tuple[int, str], Record]) -> Record:
    said = id(part.backend), canonical(run.parameters)
    if said not in known:
        known[said] = find("agent", part.agent).builder(_tabular(part).problem, **run.parameters)
    return known[said]


def _tabular(part: Part) -> TabularBackend:
    return cast("TabularBackend", part.backend)


def _streams(lane: LaneRun) -> Streams:
    return streams(lane.part.seed_for(lane.run.replicate))


def _together(things: Sequence[Any], key: Any) -> Iterator[list[Any]]:
    """Things with one key together, in the order in which keys are met."""
    groups: dict[str, list[Any]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    yield from groups.values()
