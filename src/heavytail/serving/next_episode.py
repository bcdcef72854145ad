"""The next episode of an agent, aside: it is asked what it would do, and stays as it is."""

import copy

import numpy as np

from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import begin
from heavytail.mdp.problem import Problem
from heavytail.serving.session import Session, new_session


def session_aside(session: Session, problem: Problem) -> Session:
    """Return a session that may begin an episode as this one would; it is for asking, not for learning.

    An agent that does something at the beginning is copied, any other shared.
    """
    agent = copy.deepcopy(session.agent) if type(session.agent) in begin.methods else session.agent
    # A stream of its own after each update: a posterior drawn by the same numbers again explores little.
    rng = stream(np.random.SeedSequence([*map(int, session.rng), int(session.updates[0])]))
    aside = new_session(agent, rng, session.predictions, problem)
    aside.updates[0] = session.updates[0]
    return aside
