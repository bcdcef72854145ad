"""Environments, one per file: a function that returns an MDP, or one that changes.

The docstring of that function is the environment's documentation page.
"""

from typing import Any

from heavytail.errors import InputError, short_repr, suggestion
from heavytail.mdp import MDP
from heavytail.mdp.changing import ChangingMDP, changing_mdp
from heavytail.registry import find


def make_mdp(name: str, **parameters: Any) -> MDP:
    """Make an environment by its name.

    Args:
        name: the environment's id; ``heavytail.registered("env")`` and ``heavytail list envs`` list them.
        **parameters: the environment's own, which ``ht.describe("six_arms")`` explains. The heavy-tailed law
            of most is the parameter `law`: a law, or the name of one, whose parameters may then stand beside
            the environment's; it is moved to the mean that the environment asks for.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms", horizon=10)
    >>> mdp.n_states, mdp.n_actions, mdp.horizon
    (7, 6, 10)
    >>> other = ht.make_mdp("six_arms", law="student_t", df=1.5, horizon=10)
    >>> (other.mean_rewards == mdp.mean_rewards).all()
    np.True_
    """
    mdp = _build(name, parameters)
    if isinstance(mdp, ChangingMDP):
        raise InputError(
            f"{name} is an MDP that changes, and an MDP that stays is needed here;"
            f" make_changing_mdp({name!r}) is for learning in it"
        )
    return mdp


def make_changing_mdp(name: str, **parameters: Any) -> ChangingMDP:
    """Make an environment by its name, as an MDP that may change; most never do.

    Args:
        name: the environment's id.
        **parameters: the environment's own, as in `make_mdp`.

    >>> import heavytail as ht
    >>> ht.make_changing_mdp("six_arms").at, ht.make_changing_mdp("changing_bandits", planned_steps=1000).at
    ((), (500,))
    """
    mdp = _build(name, parameters)
    return mdp if isinstance(mdp, ChangingMDP) else changing_mdp([mdp], at=[])


def _build(name: str, parameters: dict[str, Any]) -> MDP | ChangingMDP:
    """Call a builder; a law may be given by its name, its parameters beside the environment's."""
    env = find("env", name)
    if isinstance(parameters.get("law"), str) and "law" in env.parameters:
        law = find("law", parameters["law"])
        own = {key: value for key, value in parameters.items() if key in env.parameters}
        others = {key: value for key, value in parameters.items() if key not in env.parameters}
        for key in others:
            if key not in law.parameters:
                raise InputError(
                    f"neither {name} nor {law.name} has a parameter {short_repr(key)};"
                    f" {suggestion(key, {**env.parameters, **law.parameters})}"
                )
        parameters = {**own, "law": law.builder(**others)}
    mdp: MDP | ChangingMDP = env.builder(**parameters)
    return mdp
