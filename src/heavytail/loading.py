"""One way to load everything that heavytail writes, by what the file says it is."""

import os
from collections.abc import Callable
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
    """Load what heavytail wrote, by what the file says it is.

    That is a learner, an agent for a loop of one's own, an MDP, deep runs, a wrapper with its counts, or a
    study. For type checkers, ``Learner.load``, ``OnlineAgent.load`` and ``Study.open`` load one of them.

    Args:
        path: a file of ``save``, the folder of a study, or the Parquet file in which one was packed.
        env: the environment, where it is not in the file: Gymnasium's, for wrappers and for learners that
            were in one; without it they predict, and do not learn.

    >>> import heavytail as ht, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "agent.npz")
    >>> ht.make_agent(ht.make_mdp("six_arms"), "random").save(path)
    >>> ht.load(path)
    Learner('random', episodes=0, steps=0)
    """
    if _first_bytes(path, len(PARQUET)) in (None, PARQUET):
        return _load_study(path, env)
    from heavytail.agent_file import read_description  # here, as below: each is slow to import

    description = read_description(path)
    for key, loader in LOADERS.items():
        if key in description:
            return loader(path, env, description[key])
    raise InputError(f"{os.fspath(path)} is no file that this version of heavytail knows")


def _first_bytes(path: StrPath, count: int) -> bytes | None:
    """Read how a file begins; None for a folder."""
    try:
        with Path(path).open("rb") as file:
            return file.read(count)
    except IsADirectoryError:
        return None
    except (OSError, ValueError) as error:  # ValueError: a zero in the name
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _load_study(path: StrPath, env: Any) -> "Study":
    from heavytail.studies.study import Study

    if env is not None:
        raise InputError(f"{os.fspath(path)} is a study, which knows its environments; leave env out")
    return Study.open(os.fspath(path))


def _load_learner(path: StrPath, env: Any, agent: Any) -> "Learner":
    from heavytail.training.learner import Learner

    return Learner.load(path, env)


def _load_kind(path: StrPath, env: Any, kind: Any) -> "AnyMDP | OnlineAgent[Any]":
    from heavytail.mdp.mdp_file import load_mdp
    from heavytail.serving.online_agent import OnlineAgent

    if kind not in ("mdp", "stepwise"):
        raise InputError(f"{os.fspath(path)} is of kind {short_repr(kind)}, which is none of heavytail's")
    if env is not None:
        raise InputError(f"{os.fspath(path)} is complete; leave env out")
    return load_mdp(path) if kind == "mdp" else OnlineAgent.load(path)


def _load_deep(path: StrPath, env: Any, environment: Any) -> "DeepLearner":
    from heavytail.deep import DeepLearner

    return DeepLearner.load(path, env)


def _load_wrapper(path: StrPath, env: Any, wrapper: Any) -> "FilterReward":
    from heavytail import gym
    from heavytail.gym.adapters import FilterReward

    known = getattr(gym, wrapper) if wrapper in gym.__all__ else None
    if not (isinstance(known, type) and issubclass(known, FilterReward)):
        raise InputError(f"{os.fspath(path)} is of {short_repr(wrapper)}, which is no wrapper of heavytail")
    if env is None:
        raise InputError(
            f"{os.fspath(path)} is the state of {wrapper}; give its environment: load(path, env)"
        )
    return known.from_file(path, env)


# By the entry of the description that tells what a file is
LOADERS: "dict[str, Callable[[StrPath, Any, Any], Loaded]]" = {
    "kind": _load_kind,
    "wrapper": _load_wrapper,
    "deep": _load_deep,
    "agent": _load_learner,
}
