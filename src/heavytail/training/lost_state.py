"""Notice wrappers whose state was not loaded beside the agent that learnt in them."""

import inspect
import warnings
from typing import Any


def warn_of_lost_state(env: Any, steps: int) -> None:
    """Warn if an agent of so many steps goes on in a wrapper that has seen nothing.

    A wrapper whose state belongs to what was learnt says so by a property `lacks_state`, and by another,
    `lost_state`, what is wrong without it.
    """
    while steps > 0 and env is not None:
        if getattr(env, "lacks_state", False) is True:
            warnings.warn(describe_lost_state(env, steps), stacklevel=4)
        env = vars(env).get("env") if hasattr(env, "__dict__") else None


def describe_lost_state(wrapper: Any, steps: int) -> str:
    """Say what is missing, and what to do."""
    name = type(wrapper).__name__
    return (
        f"the agent has learnt before ({steps:,} steps), but {name} {wrapper.lost_state}; load its state too:"
        f" {name}.load(path, env), from what env.save(path) wrote"
    )


def steps_of_learning_model() -> int:
    """Count the steps, or the updates, that a model of Stable-Baselines3 which is learning has behind it.

    It tells wrappers nothing of itself, but its method that collects transitions is on the stack. (A plain
    ``learn`` counts steps from 0 again, but not updates.)
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "collect_rollouts":
            model = frame.f_locals.get("self")
            return max(int(getattr(model, name, 0)) for name in ("num_timesteps", "_n_updates"))
        frame = frame.f_back
    return 0
