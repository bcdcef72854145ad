"""The next episode of an agent, begun aside: it is known what it would do, and it stays as it is."""

import copy

import numpy as np

from heavytail.arrays import Record, Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import begin
from heavytail.mdp.problem import Problem
from heavytail.training.session import Session, new_session


def begin_aside(session: Session, problem: Problem) -> Session:
    """Return a session that has begun an episode as this one would; it is for asking, not for learning.

    An agent that does something at the beginning is copied, any other shared.
    """
    agent = copy.deepcopy(session.agent) if type(session.agent) in begin.methods else session.agent
    # A stream of its own after each update: a posterior drawn by the same numbers again explores little.
    rng = stream(np.random.SeedSequence([*map(int, session.rng), int(session.updates[0])]))
    entry(_begin, agent)(agent, 0, rng)
    aside = new_session(agent, rng, session.predictions, problem)
    aside.updates[0], aside.in_episode[0] = session.updates[0], 1
    return aside


def _begin(agent: Record, s: int, rng: Stream) -> None:
    begin(agent, s, rng)
