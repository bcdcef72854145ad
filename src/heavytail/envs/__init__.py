"""Environments, one per file: a function that returns an MDP, or one that changes.

The docstring of that function is the environment's documentation page.
"""

from typing import Any, Literal, overload

from heavytail.errors import InputError, short_repr, suggestion
from heavytail.mdp import MDP
from heavytail.mdp.changing import ChangingMDP
from heavytail.registry import find


@overload
def make_mdp(name: Literal["changing_bandits"], **parameters: Any) -> ChangingMDP: ...
@overload
def make_mdp(name: str, **parameters: Any) -> MDP: ...
def make_mdp(name: str, **parameters: Any) -> MDP | ChangingMDP:
    """Make an environment by its name: an MDP, or one that changes.

    Args:
        name: the environment's id; ``heavytail.registered("env")`` and ``heavytail list envs`` list them.
        **parameters: the environment's own, which ``ht.describe("six_arms")`` explains. Most take their
            heavy-tailed law as the parameter `law`: a law, or the name of one, whose parameters may then be
            given beside the environment's; it is shifted to the mean that the environment needs.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms", horizon=10)
    >>> mdp.n_states, mdp.n_actions, mdp.horizon
    (7, 6, 10)
    >>> other = ht.make_mdp("six_arms", law="student_t", df=1.5, horizon=10)
    >>> (other.mean_rewards == mdp.mean_rewards).all()
    np.True_
    >>> ht.make_mdp("changing_bandits", planned_steps=1000).at
    (500,)
    """
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
