"""The contents of a `DeepLearner`'s file: names of its arrays, and checks on reading."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

from heavytail.agent_file import find_array
from heavytail.arrays import Floats
from heavytail.checks import as_floats, cast_value
from heavytail.deep.dqn import DQN
from heavytail.deep.envs import Environment, find_environment
from heavytail.deep.gym_driver import environment_from_gymnasium
from heavytail.errors import InputError
from heavytail.files import Arrays
from heavytail.gym_answers import AbsentEnv
from heavytail.ranges import COUNT

if TYPE_CHECKING:
    import gymnasium


def load_curve(arrays: Arrays, steps: int, row: tuple[int, int]) -> tuple[Floats, list[int], list[Floats]]:
    """Return the totals, the steps of the curve and its rows, which have this shape."""
    marks = find_array("curve/steps", arrays, np.zeros(0, np.int64), same_shape=False)
    rows = find_array("curve/totals", arrays, np.zeros((marks.size, *row)))
    totals = find_array("totals", arrays, np.zeros((3, row[1])))
    if (np.diff(marks, prepend=0, append=steps) < 0).any():
        raise InputError("the steps of its curve do not ascend from 0 to its steps")
    counts = np.concatenate([rows[:, :3], totals[None]])[:, [0, 2]]  # episodes and truncated rewards
    if not COUNT.holds(counts).all():
        raise InputError("its totals have a count that is not a count")
    return totals, marks.tolist(), list(rows)


def load_environment(metadata: Mapping[str, Any], gym_env: "gymnasium.Env[Any, Any] | None") -> Environment:
    """Return the environment of the runs, compiled or Gymnasium's."""
    if gym_env is None:
        try:
            return find_environment(metadata["deep"])
        except InputError as error:
            raise InputError(
                f"{error}. If the runs learnt in a Gymnasium environment, pass it:"
                " DeepLearner.load(path, env=env)"
            ) from None
    environment = environment_from_gymnasium(gym_env)
    if not len(environment.low) == len(metadata["low"]) == len(metadata["high"]):
        raise InputError(
            f"its runs saw {len(metadata['low'])} numbers in an observation, those of {environment.name}"
            f" have {len(environment.low)}"
        )
    low, high = (tuple(as_floats(name, metadata[name]).tolist()) for name in ("low", "high"))
    name = str(metadata["deep"]) if isinstance(gym_env, AbsentEnv) else environment.name
    return environment._replace(name=name, low=low, high=high)


def describe_spaces(env: "gymnasium.Env[Any, Any]") -> dict[str, int]:
    """Describe a Gymnasium environment's actions for a file."""
    actions: Any = env.action_space
    return {"n_actions": int(actions.n), "first_action": int(actions.start)}


def load_absent(metadata: Mapping[str, Any]) -> AbsentEnv | None:
    """Return a stand-in for a Gymnasium environment that is not given; None if the runs did not use one."""
    if "spaces" not in metadata:
        return None
    low, high = (as_floats(name, metadata[name]).astype(np.float32) for name in ("low", "high"))
    n, first = (
        cast_value(metadata["spaces"][key], int, f"its {key}") for key in ("n_actions", "first_action")
    )
    return AbsentEnv(Box(low, high), Discrete(n, start=first))


def name_arrays(states: DQN) -> dict[str, Any]:
    """Return the arrays of all runs by name, as in the file."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(states)
    return {_array_name(path): np.asarray(leaf) for path, leaf in leaves}


def _array_name(path: Any) -> str:
    return "states/" + jax.tree_util.keystr(path, simple=True, separator="/")


def restore_states(template: DQN, arrays: Mapping[str, Any]) -> DQN:
    """Return states with the arrays of a file, whose shapes and types must match the template's."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    restored = [jnp.asarray(find_array(_array_name(path), arrays, old)) for path, old in leaves]
    return jax.tree.unflatten(structure, restored)
