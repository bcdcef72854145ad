"""One function that loads everything heavytail writes."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from heavytail.errors import InputError, short_repr
from heavytail.files import PARQUET

if TYPE_CHECKING:
    from heavytail.deep import DeepLearner
    from heavytail.gym.adapters import FilterReward
    from heavytail.mdp.mdp_file import AnyMDP
    from heavytail.serving.online_agent import OnlineAgent
    from heavytail.studies.study import Study
    from heavytail.training.learner import Learner

    Loaded: TypeAlias = Learner | OnlineAgent[Any] | AnyMDP | DeepLearner | FilterReward | Study

StrPath: TypeAlias = str | os.PathLike[str]


def load(path: StrPath, env: Any = None) -> "Loaded":
    """Load anything that heavytail wrote, as the type its file declares.

    That is a learner, an agent for your own loop, an MDP, deep runs, a wrapper with its counts, or a study.
    For type checkers, ``Learner.load``, ``OnlineAgent.load`` and ``Study.open`` each load one type.

    Args:
        path: a file written by ``save``, the folder of a study, or the Parquet file a study was packed into.
        env: the environment, if it is not in the file: a Gymnasium one, for wrappers and for learners that
            had one; without it such learners can predict, but not learn.

    >>> import heavytail as ht, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "agent.npz")
    >>> ht.make_agent(ht.make_mdp("six_arms"), "random").save(path)
    >>> ht.load(path)
    Learner('random', episodes=0, steps=0)
    """
    name = os.fspath(path)
    if _first_bytes(path, len(PARQUET)) in (None, PARQUET):
        from heavytail.studies.study import Study  # here, as below: each is slow to import

        _refuse_env(env, f"{name} is a study, which has its own environments")
        return Study.open(name)
    from heavytail.agent_file import read_description

    match read_description(path):
        case {"kind": "mdp"}:
            from heavytail.mdp.mdp_file import load_mdp

            _refuse_env(env, f"{name} is complete")
            return load_mdp(path)
        case {"kind": "stepwise"}:
            from heavytail.serving.online_agent import OnlineAgent

            _refuse_env(env, f"{name} is complete")
            return OnlineAgent.load(path)
        case {"kind": kind}:
            raise InputError(f"{name} is of kind {short_repr(kind)}, which is not one of heavytail's")
        case {"wrapper": wrapper}:
            return _load_wrapper(path, env, wrapper)
        case {"deep": _}:
            from heavytail.deep import DeepLearner

            return DeepLearner.load(path, env)
        case {"agent": _}:
            from heavytail.training.learner import Learner

            return Learner.load(path, env)
    raise InputError(f"{name} is not a file that this version of heavytail knows")


def _refuse_env(env: Any, why: str) -> None:
    if env is not None:
        raise InputError(f"{why}; leave env out")


def _first_bytes(path: StrPath, count: int) -> bytes | None:
    """Read the first bytes of a file; None for a folder."""
    try:
        with Path(path).open("rb") as file:
            return file.read(count)
    except IsADirectoryError:
        return None
    except (OSError, ValueError) as error:  # ValueError: a zero in the name
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _load_wrapper(path: StrPath, env: Any, wrapper: Any) -> "FilterReward":
    from heavytail import gym
    from heavytail.gym.adapters import FilterReward

    known = getattr(gym, wrapper) if wrapper in gym.__all__ else None
    if not (isinstance(known, type) and issubclass(known, FilterReward)):
        raise InputError(f"{os.fspath(path)} is of {short_repr(wrapper)}, which is not heavytail's")
    if env is None:
        raise InputError(
            f"{os.fspath(path)} is the state of {wrapper}; give its environment: load(path, env)"
        )
    return known.from_file(path, env)
