"""Runners: an environment and the loop that runs an agent in it.

`MDPRunner` runs the fused loop in MDP records, `GymRunner` steps through a Gymnasium environment.
"""

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from heavytail.arrays import Record
from heavytail.errors import InputError, one_line, short_repr
from heavytail.gym_answers import check_reset, check_step, to_float
from heavytail.kernels.rng import Seed, Streams, seed_sequence
from heavytail.mdp import MDP
from heavytail.mdp.builders import parse_horizon
from heavytail.mdp.changing import ChangingMDP
from heavytail.mdp.from_gymnasium import max_episode_steps
from heavytail.mdp.from_log import LoggedMDP
from heavytail.mdp.mdp_file import as_changing
from heavytail.mdp.problem import Problem, make_problem
from heavytail.mdp.validation import check_mdp
from heavytail.serving.online_agent import OnlineAgent
from heavytail.training import fused, step_loop

# Gymnasium's wrappers that leave rewards unchanged
REWARD_PRESERVING_WRAPPERS = ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics")
SAMPLE = 10_000  # first rewards of a Gymnasium environment kept, to base advice on
OnChunk = Callable[[Record], None]


class MDPRunner:
    """The fused loop in an MDP, which may change over time."""

    def __init__(self, mdp: ChangingMDP) -> None:
        self.changing_mdp = mdp
        self.problem = make_problem(*map(check_mdp, mdp.mdps))

    def run(
        self,
        agent: Record,
        streams: Streams,
        run_state: fused.RunState,
        recorded: fused.Checkpoints,
        until: int,
        on_chunk: OnChunk,
    ) -> None:
        """Learn until `until` units are done, from change to change of the MDP."""
        changing = self.changing_mdp
        for mdp in changing.played:
            check_mdp(mdp)  # arrays can be edited at any time; compiled code trusts them
        while run_state.episodes_or_steps[0] < until:
            units = int(run_state.episodes_or_steps[0])
            mdp, change = changing.played[changing.which(units)], changing.until(units)
            stop = until if change is None else min(until, change)
            agent = fused.run(agent, mdp, streams, run_state, recorded, stop, on_chunk)

    def to_state(self, observation: Any) -> Any:
        """Return the state for an observation: here they are the same."""
        return observation

    def to_action(self, a: int) -> int:
        """Return the environment's number for an action: here the agent's own."""
        return a


class GymRunner:
    """The stepwise loop in a Gymnasium environment with discrete observations and actions.

    The environment is seeded from `seed` at the first reset; its random state is not part of an agent file.
    An interrupted episode is not continued: the next `learn` starts a new one.
    """

    def __init__(self, env: Any, horizon: int | None, seed: int) -> None:
        self.env = env
        self.changing_mdp = None  # unknown
        self.problem = _make_problem(env, horizon)
        self.own_horizon = horizon is None  # the environment's, not the user's
        self.sample: list[tuple[tuple[int, int], float]] = []  # the first rewards: (s, a), r
        self._seed: int | None = seed
        self.truncated = False
        self._first_state, self._first_action = int(env.observation_space.start), int(env.action_space.start)
        self._knows_means = _reward_shift(env) is not None

    def run(
        self,
        agent: Record,
        streams: Streams,
        run_state: fused.RunState,
        recorded: fused.Checkpoints,
        until: int,
        on_chunk: OnChunk,
    ) -> None:
        """Learn until `until` units are done, one step at a time."""
        run_state.in_episode[0] = 0
        steps: OnlineAgent[int] = OnlineAgent(agent, streams.agent, self.problem)
        step_loop.run(steps, self, self.problem.horizon, run_state, recorded, until, on_chunk)

    def reset(self) -> int:
        """Start an episode and return its first state; the environment is seeded once."""
        observation = check_reset(self.env.reset(seed=self._seed))
        self._seed = None
        return self.to_state(observation)

    def step(self, s: int, a: int, h: int) -> tuple[int, float, bool, float]:
        """Make one transition; the expected reward comes from `info`, or is NaN if unknown."""
        observation, reward, terminated, self.truncated, info = check_step(self.env.step(self.to_action(a)))
        if len(self.sample) < SAMPLE:
            self.sample.append(((s, a), reward))
        mean = to_float("mean_reward", info.get("mean_reward", np.nan)) if self._knows_means else np.nan
        return self.to_state(observation), reward, terminated, mean

    def twin(self, env: Any, seed: Seed) -> "GymRunner":
        """Make a runner of another environment of the same sizes, or of a copy of this one."""
        if env is None:
            try:
                env = copy.deepcopy(self.env)
            except Exception as error:  # of any library it uses
                raise InputError(
                    f"evaluate: this environment cannot be copied ({one_line(error)}); pass another as env="
                ) from error
        runner = make_runner(env, self.problem.horizon, seed)
        if not isinstance(runner, GymRunner) or runner.problem[:3] != self.problem[:3]:
            raise InputError(
                f"evaluate: env has {runner.problem[:3]} states, actions and steps; the agent learnt with"
                f" {self.problem[:3]}"
            )
        return runner

    def to_state(self, observation: Any) -> int:
        """Return an observation as a state counted from 0; an error for one outside the space."""
        try:
            s = operator.index(observation) - self._first_state
        except TypeError:
            s = -1
        if not 0 <= s < self.problem.n_states:
            raise InputError(
                f"{observation!s:.60} is not an observation of this environment, {self.env.observation_space}"
            )
        return s

    def to_action(self, a: int) -> int:
        """Return the environment's number for an action."""
        return a + self._first_action


def _make_problem(env: Any, horizon: int | None) -> Problem:
    if hasattr(env, "num_envs"):
        raise InputError(
            f"make_agent: env is a vector of {env.num_envs} environments; a tabular agent learns in a single"
            " one"
        )
    for what, space in (("observations", env.observation_space), ("actions", env.action_space)):
        if not isinstance(space, Discrete):
            raise InputError(
                f"make_agent: the {what} of this environment are {short_repr(space)}; tabular agents need"
                " Discrete ones, so make them discrete with a wrapper, or use a deep agent:"
                " ht.deep.robust_dqn(env)"
            )
    limit = max_episode_steps(env)
    steps = limit if horizon is None else parse_horizon(horizon, 1)
    if steps is None:
        raise InputError(
            "make_agent: this environment has no step limit; give horizon=, the number of steps in an episode"
        )
    if limit is not None and steps > limit:
        raise InputError(
            f"make_agent: horizon is {horizon}, but the environment cuts its episodes after {limit} steps"
        )
    mdp, shift = getattr(env.unwrapped, "mdp", None), _reward_shift(env)
    r_max = float(mdp.row_means.max()) + shift if isinstance(mdp, MDP) and shift is not None else None
    return Problem(int(env.observation_space.n), int(env.action_space.n), steps, r_max)


def _reward_shift(env: Any) -> float | None:
    """Return the amount by which wrappers shift expected rewards; None if unknown.

    A wrapper declares it as the class attribute `mean_reward_shift`; others may do anything to rewards.
    """
    shift = 0.0
    while env is not env.unwrapped:
        if type(env).__name__ not in REWARD_PRESERVING_WRAPPERS:
            own_shift = getattr(env, "mean_reward_shift", None)  # declared by wrappers that know it
            if own_shift is None:
                return None
            shift += own_shift
        env = env.env
    return shift


def make_runner(env: Any, horizon: int | None, seed: Seed) -> MDPRunner | GymRunner:
    """Make the runner of an environment: an MDP, a changing one or a Gymnasium environment."""
    if isinstance(env, MDP | ChangingMDP | LoggedMDP):
        changing = as_changing(env)
        if horizon not in (None, own := changing.mdps[0].horizon or None):
            raise InputError(
                f"make_agent: horizon is {horizon}, but an MDP has its own, {own}; set it when building"
                " the MDP"
            )
        return MDPRunner(changing)
    if not all(hasattr(env, name) for name in ("reset", "step", "observation_space", "action_space")):
        raise InputError(
            f"make_agent: env is a {type(env).__name__}; it must be an MDP, such as"
            " make_mdp('six_arms'), or a Gymnasium environment"
        )
    sequence = seed_sequence(seed)
    if isinstance(sequence.entropy, int) and not sequence.spawn_key:
        return GymRunner(env, horizon, sequence.entropy)
    return GymRunner(env, horizon, int(sequence.generate_state(1)[0]))
