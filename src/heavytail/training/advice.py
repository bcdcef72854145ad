"""Unasked advice from a learner: `moment` is too small, or the policy has one table per step."""

import logging
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from heavytail.arrays import Record
from heavytail.mdp.problem import Problem
from heavytail.planning.reward_moments import largest_moment
from heavytail.training.runners import GymRunner, MDPRunner

MAX_SHARE = 0.5  # of rewards truncated; above it, the user's moment is questioned
MIN_STEPS = 1000  # before any advice; thresholds are small at first
MIN_VISITS = 10  # of a state and action whose rewards count

log = logging.getLogger("heavytail")
_said: set[str] = set()  # in this process


def question_moment(
    name: str, parameters: Mapping[str, Any], runner: MDPRunner | GymRunner, truncated: float, steps: int
) -> str | None:
    """Warn that the given moment is too small if most rewards were truncated; None if it is not.

    A moment that is learnt, or taken from the MDP, is not questioned.
    """
    moment, epsilon = parameters.get("moment"), parameters.get("epsilon")
    if moment is None or steps < MIN_STEPS or truncated <= MAX_SHARE * steps:
        return None
    if isinstance(runner, MDPRunner):
        order, suggested = largest_moment(runner.changing_mdp.mdps, epsilon)
        source = "the MDP's laws have"
    else:
        order = 1.0 + float(epsilon or 0.0)
        suggested, source = suggest_moment(order, runner.sample), "the rewards so far suggest"
    if not suggested > moment:
        return None
    return (
        f"{name} truncated {truncated / steps:.0%} of all rewards: moment={moment:g} is too small; of"
        f" order {order:g} {source} {suggested:.3g}; without moment= the agent learns it"
    )


def suggest_moment(order: float, rewards: Iterable[tuple[Any, float]]) -> float:
    """Estimate the largest moment E|r|**order over the states and actions visited often enough.

    >>> suggest_moment(1.5, [(cell, reward) for cell, reward in [(0, 1.0), (1, -4.0)] for _ in range(10)])
    8.0
    """
    by_cell: dict[Any, list[float]] = {}
    for cell, reward in rewards:
        if math.isfinite(reward):
            by_cell.setdefault(cell, []).append(abs(reward) ** order)
    often = [sizes for sizes in by_cell.values() if len(sizes) >= MIN_VISITS]
    return max((math.fsum(sizes) / len(sizes) for sizes in often), default=math.nan)


def note_policy_per_step(name: str, agent: Record, problem: Problem) -> None:
    """Mention once per process that an agent learns a policy for each step, if it does.

    This is logged, not warned: nothing is wrong.
    """
    if problem.horizon > 1 and not _said and _has_table_per_step(agent, problem):
        _said.add("policy per step")
        log.warning(
            "heavytail: episodes have %d steps, and %s learns a policy for each of them: policy() is"
            " [%d, %d], predict(observation, step) asks for a step; horizon= makes episodes shorter",
            *(problem.horizon, name, problem.horizon, problem.n_states),
        )


def _has_table_per_step(record: Record, problem: Problem) -> bool:
    """Return whether a record, or one inside it, holds an array whose first axes are steps and states."""
    shape = (problem.horizon, problem.n_states)
    return any(
        _has_table_per_step(value, problem) if hasattr(value, "_fields") else np.shape(value)[:2] == shape
        for value in record
    )
