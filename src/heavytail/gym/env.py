"""An MDP as a Gymnasium environment."""

import math
import operator
from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from heavytail.envs import make_mdp
from heavytail.errors import InputError, short_repr
from heavytail.kernels.rng import streams
from heavytail.mdp import MDP
from heavytail.mdp.from_log import LoggedMDP
from heavytail.mdp.validation import check_mdp
from heavytail.training.step_loop import MDPStepper

IMAGE_SIZE = 256  # pixels along a side, or one for each state if there are more
NO_STATE, STATE, CURRENT_STATE = 0, 80, 255  # shades of grey


class MDPEnv(gymnasium.Env[int, int], RecordConstructorArgs):
    """An MDP as a Gymnasium environment.

    Observations are states; states and actions are integers from 0.

    ``gymnasium.make("heavytail/SixArms-v0", horizon=10)`` is ``MDPEnv("six_arms", horizon=10)`` in
    Gymnasium's usual wrappers.

    ``info["mean_reward"]`` is the expected reward of the state and action: what regret is measured in, since
    heavy-tailed rewards themselves average out slowly or never.

    An episode is *terminated* by a transition that the MDP marks as the end. It is *truncated* when the
    horizon is reached without one. The last step of the horizon may do both; then it is only terminated,
    because nothing would have followed in any case. So a learner that treats the horizon as a mere time limit
    bootstraps exactly where ``truncated`` is true; one that solves the problem of H steps, as heavytail's do,
    treats both as the end. A continuing MDP never ends an episode.

    With the same seed and actions, states and rewards are bit for bit those of
    `heavytail.training.step_loop.MDPStepper` with ``streams(seed)``, and so those that `Learner.learn` meets.
    Only ``reset(seed=...)`` restarts the streams; after a plain ``reset()`` they continue into the next
    episode.

    Args:
        name: the environment's id, as in `make_mdp`.
        render_mode: None, or "rgb_array" for an image of all states with the current one lit.
        mdp: your own MDP instead, perhaps from a log, whose label of the state is then in
            ``info["state"]``; `name` has no effect.
        **parameters: the environment's, as in `make_mdp`.

    Attributes:
        mdp: the MDP; ``env.unwrapped.mdp`` behind wrappers.

    >>> from heavytail.gym import MDPEnv
    >>> env = MDPEnv("six_arms", horizon=10)
    >>> env.reset(seed=0)
    (0, {})
    >>> state, reward, terminated, truncated, info = env.step(0)
    >>> state, reward, terminated, truncated, info
    (1, 0.0, False, False, {'mean_reward': 0.0})
    >>> env.mdp.horizon
    10
    """

    # Gymnasium declares it so.
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        name: str = "six_arms",
        render_mode: str | None = None,
        mdp: MDP | LoggedMDP | None = None,
        **parameters: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(
                f"{name}: render_mode is {short_repr(render_mode)}; it must be None or 'rgb_array'"
            )
        # An MDP may be large and never changes, so it is not copied.
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, name=name, render_mode=render_mode, mdp=mdp, **parameters
        )
        self._labels = mdp.states if isinstance(mdp, LoggedMDP) else None
        own = mdp.mdp if isinstance(mdp, LoggedMDP) else mdp
        built = _require_mdp(make_mdp(name, **parameters) if own is None else own)
        self.mdp = built if own is None else _check_own_mdp(built, parameters)
        self.render_mode = render_mode
        # Gymnasium types Discrete as a space of NumPy integers; Python's are in it too, and index tables.
        self.observation_space = cast("gymnasium.Space[int]", gymnasium.spaces.Discrete(self.mdp.n_states))
        self.action_space = cast("gymnasium.Space[int]", gymnasium.spaces.Discrete(self.mdp.n_actions))
        self._stepper: MDPStepper | None = None
        self._seeded_by: np.random.Generator | None = None
        self._running = False
        self._state = 0
        self._h = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: restarts the random streams; without it they continue, or start from fresh entropy, which
                `np_random_seed` then returns.
            options: not used.
        """
        super().reset(seed=seed)
        # Gymnasium makes a generator for each seed, and users may set one: whenever it changes, the streams
        # restart.
        if self._stepper is None or self.np_random is not self._seeded_by:
            self._stepper = MDPStepper(self.mdp, streams(self._stream_seed()))
            self._seeded_by = self.np_random
        self._state, self._h, self._running = int(self._stepper.reset()), 0, True
        return self._state, self._label()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Make one transition.

        Returns:
            the next state, the reward, whether the episode is terminated, whether it is truncated, and the
            expected reward in ``info``.
        """
        if self._stepper is None or not self._running:
            what = "no episode has begun" if self._stepper is None else "the episode has ended"
            raise ResetNeeded(f"step: {what}; call reset() first")
        s, reward, ended, mean = self._stepper.step(self._state, self._check_action(action), self._h)
        terminated = bool(ended)
        truncated = not terminated and self._h + 1 == self.mdp.horizon
        self._state, self._h = int(s), self._h + 1 if self.mdp.horizon else 0
        self._running = not (terminated or truncated)
        info = {"mean_reward": float(mean), **self._label()}
        return self._state, float(reward), terminated, truncated, info

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Draw a square for each state, row by row, the current one lit; None without a `render_mode`."""
        if self.render_mode is None:
            return None
        side = math.isqrt(self.mdp.n_states - 1) + 1
        squares = np.full(side * side, NO_STATE, np.uint8)
        squares[: self.mdp.n_states] = STATE
        squares[self._state] = CURRENT_STATE
        size = max(1, IMAGE_SIZE // side)
        grey = squares.reshape(side, side).repeat(size, axis=0).repeat(size, axis=1)
        return np.stack([grey] * 3, axis=-1)

    def __repr__(self) -> str:
        return f"MDPEnv({self.mdp!r})"

    def __getstate__(self) -> dict[str, Any]:
        # Without compiled functions: the receiving process loads its own from disk, which is faster than
        # compiling these again.
        return {**vars(self), "_stepper": None if self._stepper is None else self._stepper.streams}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if state["_stepper"] is not None:
            self._stepper = MDPStepper(self.mdp, state["_stepper"])

    def _label(self) -> dict[str, Any]:
        return {} if self._labels is None else {"state": self._labels[self._state]}

    def _stream_seed(self) -> int:
        generator, seed = self.np_random, self.np_random_seed
        # Gymnasium reports -1 for a generator set by hand: its seed is unknown, but it can draw one.
        return seed if seed >= 0 else int(generator.integers(2**63))

    def _check_action(self, action: Any) -> int:
        try:
            a = operator.index(action)
        except TypeError:
            a = -1
        if not 0 <= a < self.mdp.n_actions:
            raise InputError(
                f"step: there is no action {short_repr(action)}; actions go from 0 to"
                f" {self.mdp.n_actions - 1}"
            )
        return a


def _require_mdp(mdp: Any) -> MDP:
    if not isinstance(mdp, MDP):
        raise InputError(
            f"MDPEnv: mdp is a {type(mdp).__name__}; it must be an MDP, such as make_mdp('six_arms')"
        )
    return mdp


def _check_own_mdp(mdp: MDP, parameters: dict[str, Any]) -> MDP:
    if parameters:
        raise InputError(
            f"MDPEnv: mdp is given, so there is nothing to build with {', '.join(parameters)}; give either"
        )
    return check_mdp(mdp)
