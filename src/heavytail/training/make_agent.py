"""Make a learner by the name of its agent, or from its file."""

import os
from typing import Any

from heavytail.kernels.rng import Seed, streams
from heavytail.registry import find
from heavytail.serving.make_online import new_seed
from heavytail.training.fused import new_run_state
from heavytail.training.learner import Learner
from heavytail.training.runners import MDPRunner, make_runner
from heavytail.training.true_values import with_true_values


def make_agent(
    env: Any,
    name: str = "heavy_psrl",
    *,
    seed: Seed | None = None,
    horizon: int | None = None,
    **parameters: Any,
) -> Learner:
    """Make an agent that learns in an environment.

    Args:
        env: its environment: an MDP or a changing one, where learning is fused and fast, or a Gymnasium
            environment with discrete spaces, one step at a time.
        name: the agent's id; ``heavytail.registered("agent")`` lists them. "heavy_psrl" needs no prior
            knowledge of the rewards.
        seed: of its random streams; the same seed gives the same run, and two agents with one seed meet the
            same noise. None draws a new one.
        horizon: steps in an episode, for a Gymnasium environment that does not say, or to cut its episodes
            shorter.
        **parameters: the agent's own; ``ht.describe("q_learning")``, or ``heavytail list q_learning`` in a
            shell, says what each means, with its type and default. ``moment="true"`` is computed from the
            laws of an MDP.

    >>> import heavytail as ht
    >>> ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=1)
    Learner('q_learning', episodes=0, steps=0)
    >>> ht.make_agent(ht.make_mdp("six_arms"), seed=1)
    Learner('heavy_psrl', episodes=0, steps=0)
    """
    known_seed = new_seed() if seed is None else seed
    runner, entry = make_runner(env, horizon, known_seed), find("agent", name)
    mdps = runner.changing_mdp.mdps if isinstance(runner, MDPRunner) else ()
    complete = entry.arguments(runner.problem, **with_true_values(name, parameters, runner.problem, mdps))
    del complete["problem"]
    agent = entry.builder(runner.problem, **complete)
    return Learner(name, complete, agent, runner, streams(known_seed), new_run_state())


def load_agent(path: str | os.PathLike[str], env: Any = None) -> Learner:
    """Read a learner from the file that ``learner.save(path)`` wrote.

    To learn on, one that was in a Gymnasium environment needs it as `env`; to predict it does not.
    """
    return Learner.load(path, env)
