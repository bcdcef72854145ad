"""Files of learners, whose contents are checked when they are read."""

import math
import os
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete

from heavytail.agent_file import AgentFile, flatten, read_agent_file, write_agent_file
from heavytail.arrays import Record
from heavytail.checks import cast_value
from heavytail.errors import InputError, one_line
from heavytail.files import Arrays
from heavytail.gym_answers import AbsentEnv
from heavytail.kernels.rng import Streams, streams
from heavytail.kernels.validity import restore, restore_valid
from heavytail.mdp.builders import mdp_from_slots
from heavytail.mdp.changing import changing_mdp
from heavytail.mdp.problem import Problem
from heavytail.planning.regret import regret_by_gaps
from heavytail.registry import find
from heavytail.serving.session_file import read_metadata
from heavytail.training import fused
from heavytail.training.runners import GymRunner, MDPRunner, make_runner

Parts: TypeAlias = tuple[str, dict[str, Any], Record, MDPRunner | GymRunner, Streams, fused.RunState]


def write_learner(
    path: str | os.PathLike[str],
    name: str,
    parameters: dict[str, Any],
    agent: Record,
    runner: MDPRunner | GymRunner,
    run_streams: Streams,
    run_state: fused.RunState,
) -> None:
    """Write the file, including the environment if it is an MDP; on failure the old file stays."""
    problem = runner.problem._replace(mdp=None)._asdict()
    metadata: dict[str, Any] = {"agent": name, "parameters": parameters, "problem": problem}
    records = {"agent": agent, "streams": run_streams, "run_state": run_state}
    if isinstance(runner, MDPRunner):
        changing = runner.changing_mdp
        metadata |= {"changes": changing.at, "by_gaps": bool(changing.recorded)}
        records |= {f"mdp{i}": mdp for i, mdp in enumerate(changing.mdps)}
    else:
        states, actions = runner.env.observation_space, runner.env.action_space
        metadata["spaces"] = {"first_state": int(states.start), "first_action": int(actions.start)}
    arrays = {path: array for key, record in records.items() for path, array in flatten(key, record).items()}
    write_agent_file(path, AgentFile(metadata, arrays))


def read_learner(path: str | os.PathLike[str], env: Any) -> Parts:
    """Read the arguments of `Learner`."""
    metadata, arrays = read_agent_file(path)
    try:
        return _restore(metadata, arrays, env)
    except Exception as error:  # any error of a builder or check, on numbers from a file
        raise InputError(f"{os.fspath(path)} cannot be used: {one_line(error)}") from error


def _restore(metadata: dict[str, Any], arrays: Arrays, env: Any) -> Parts:
    if metadata.get("kind") is not None:
        raise InputError("it is not a learner's file: it holds an agent for your own loop; use ht.load")
    name, parameters, problem = read_metadata(metadata, arrays)
    run_state = restore_valid("run_state", fused.new_run_state(), arrays)
    run_streams = restore_valid("streams", streams(0), arrays)
    fused.check_run_state(run_state, problem.n_states, problem.horizon)
    _check_clock(run_state)
    # A Gymnasium environment gets a new seed: the learner's first one would replay what it has seen.
    new_seed = np.random.SeedSequence([*map(int, run_streams.transitions), int(run_state.steps[0])])
    if env is None and "spaces" in metadata:
        env = _absent_env(problem, metadata["spaces"])
    if env is not None:
        runner = make_runner(env, problem.horizon or None, new_seed)
    else:
        runner = _stored_runner(metadata, arrays)
    if runner.problem[:3] != problem[:3]:
        raise InputError(
            f"it is for {problem[:3]} states, actions and steps, but the environment has {runner.problem[:3]}"
        )
    template = find("agent", name).builder(problem._replace(mdp=runner.problem.mdp), **parameters)
    agent = restore_valid("agent", template, arrays)
    if isinstance(runner, MDPRunner) and not math.isfinite(run_state.totals[fused.MEAN]):
        raise InputError(f"its sum of expected rewards is {run_state.totals[fused.MEAN]}; it must be finite")
    return name, parameters, agent, runner, run_streams, run_state


def _check_clock(run_state: fused.RunState) -> None:
    units, steps = int(run_state.episodes_or_steps[0]), int(run_state.steps[0])
    if units > steps:
        raise InputError(f"it says that {steps:,} steps were made in {units:,} episodes or steps")


def _absent_env(problem: Problem, spaces: Any) -> Any:
    states, actions = (cast_value(spaces[key], int, f"its {key}") for key in ("first_state", "first_action"))
    return AbsentEnv(Discrete(problem.n_states, start=states), Discrete(problem.n_actions, start=actions))


def _stored_runner(metadata: dict[str, Any], arrays: Arrays) -> MDPRunner:
    if "changes" not in metadata:
        raise InputError("it was saved in a Gymnasium environment; give that to ht.load(path, env)")
    smallest = mdp_from_slots([0], [0], [1.0], [0.0], n_states=1, n_actions=1)
    count = len(metadata["changes"]) + 1
    mdps = [restore(f"mdp{i}", smallest, arrays, same_shape=False) for i in range(count)]
    runner = MDPRunner(changing_mdp(mdps, metadata["changes"]))  # checks them
    return MDPRunner(regret_by_gaps(runner.changing_mdp)) if metadata.get("by_gaps") else runner
