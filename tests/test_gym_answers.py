import copy
import pickle
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import heavytail as ht
from heavytail.errors import InputError
from heavytail.gym_answers import check_step
from support import mdps
from support.processes import PATIENCE

GOOD: tuple[Any, ...] = (0, 1.0, False, True, {})


class Answering(gymnasium.Env[Any, Any]):
    """An environment that gives one answer again and again."""

    observation_space = Discrete(2)
    action_space = Discrete(2)

    def __init__(self, answer: Any, first: Any = (0, {})) -> None:
        self.answer, self.first = answer, first

    def reset(self, **_: Any) -> Any:
        return self.first

    def step(self, action: Any) -> Any:
        return self.answer


BAD_STEPS = [
    ((0, 10**400, False, False, {}), "gave the reward 1000.*, which is too large for a float"),
    ((0, "1", False, False, {}), "gave the reward '1'; it must be a number"),
    ((0, None, False, False, {}), "gave the reward None; it must be a number"),
    ((0, Decimal("sNaN"), False, False, {}), "gave the reward Decimal.'sNaN'.; it must be a number"),
    ((0, np.timedelta64(5, "s"), False, False, {}), "gave the reward np.timedelta64.*; it must be a number"),
    ((0, 1.0, Decimal("sNaN"), False, {}), "gives for terminated must be True or False, got Decimal"),
    ((0, np.ones(2), False, False, {}), r"gave the reward array\(\[1., 1.\]\); it must be a number"),
    ((0, 1.0, np.array([True, False]), False, {}), r"gives for terminated must be True or False, got array"),
    ((0, 1.0, None, False, {}), "gives for terminated must be True or False, got None"),
    ((0, 1.0, False, "no", {}), "gives for truncated must be True or False, got 'no'"),
    ((0, 1.0, False, False, None), "gave the info None; it must be a dictionary"),
    ((0, 1.0, False, {}), "step gave .*; it must give an observation, a reward, terminated, truncated and"),
    (None, "step gave None; it must give an observation"),
]


@pytest.mark.parametrize(("answer", "message"), BAD_STEPS)
def test_an_answer_that_is_none_of_gymnasiums_is_one_line(answer: Any, message: str) -> None:
    learner = ht.make_agent(Answering(answer), "random", horizon=3)
    with pytest.raises(InputError, match=message) as caught:
        learner.learn(1)
    assert "\n" not in str(caught.value)
    wrapped = ht.gym.TruncateReward(Answering(answer), mode="clip", limit=1.0)
    wrapped.reset()
    with pytest.raises(InputError, match=message):
        wrapped.step(0)


def test_a_reset_that_gives_no_info_is_one_line() -> None:
    learner = ht.make_agent(Answering(GOOD, first=0), "random", horizon=3)
    with pytest.raises(InputError, match="reset gave 0; it must give an observation and info"):
        learner.learn(1)


@pytest.mark.parametrize("reward", [1, 1.0, True, np.float32(1.0), np.int8(1), Fraction(1), np.array(1.0)])
def test_any_number_is_a_reward(reward: Any) -> None:
    step = check_step((0, reward, np.bool_(True), 0, {}))
    assert step[1:4] == (1.0, True, False)
    assert type(step.reward) is float


# Threads


def test_a_second_thread_is_told_at_once() -> None:
    """The first is inside an environment while the second asks."""
    inside, over = threading.Event(), threading.Event()

    class Waiting(Answering):
        def step(self, action: Any) -> Any:
            inside.set()
            over.wait(timeout=PATIENCE)
            return GOOD

    learner = ht.make_agent(Waiting(GOOD), "random", horizon=1)
    thread = threading.Thread(target=learner.learn, args=(3,))
    thread.start()
    inside.wait(timeout=PATIENCE)
    with pytest.raises(InputError, match="this learner is already learning, in another thread"):
        learner.learn(1)
    over.set()
    thread.join()
    assert learner.learn(2).episodes[-1] == 5  # nothing was lost, and one after the other is allowed


def test_after_an_error_learning_goes_on() -> None:
    learner = ht.make_agent(mdps.mixed(), "random")
    with pytest.raises(InputError, match="so say episodes="):
        learner.learn(steps=3)
    twin: ht.Learner = pickle.loads(pickle.dumps(copy.deepcopy(learner)))  # noqa: S301 - our own
    assert learner.learn(3).episodes[-1] == twin.learn(3).episodes[-1] == 3
