"""Learners that are trained, timed from there on, and set back to the end of their training."""

import numpy as np

import heavytail as ht
from _figures import cpu_seconds
from heavytail.agent_file import flatten
from heavytail.training import fused


def advance(learner: ht.Learner, units: int) -> float:
    """Learn so many more episodes, or steps in a continuing problem; return the seconds it took."""
    x = learner
    no_checkpoints = fused.new_checkpoints(np.zeros(0, np.int64), x.agent)
    until = int(x.run_state.episodes_or_steps[0]) + units
    started = cpu_seconds()
    x.agent = fused.run(x.agent, x.mdp, x.streams, x.run_state, no_checkpoints, until)
    return cpu_seconds() - started


class Trained:
    """A trained learner that can be set back to the moment at which its training ended.

    For agents whose arrays do not grow.
    """

    def __init__(self, learner: ht.Learner, units: int) -> None:
        self.learner = learner
        advance(learner, units)
        self.agent = learner.agent
        records = {"agent": learner.agent, "streams": learner.streams, "run_state": learner.run_state}
        self.arrays = [
            array
            for name, record in records.items()
            for array in flatten(name, record).values()
            if array.ndim
        ]
        self.before = [array.copy() for array in self.arrays]

    def set_back(self) -> None:
        """Return to the end of the training."""
        for array, value in zip(self.arrays, self.before, strict=True):
            array[...] = value

    def seconds(self, units: int) -> float:
        """Return the seconds of so many more episodes or steps from there on."""
        self.set_back()
        seconds = advance(self.learner, units)
        if self.learner.agent is not self.agent:
            raise TypeError(f"the pools of {self.learner.name} grew, so that it cannot be set back")
        return seconds
