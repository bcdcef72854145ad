"""Ids for ``gymnasium.make``: one for each environment, as ``heavytail/SixArms-v0`` for ``six_arms``.

Importing heavytail registers them, so nothing here may import more than Gymnasium itself: files are listed,
not imported.
"""

from pathlib import Path

import gymnasium

ENVS = Path(__file__).parent.parent / "envs"
# so begin the names of environments that are no MDP but several in turn, which Gymnasium has no word for
CHANGING = "changing_"


def register_ids() -> None:
    """Register an id for each environment of heavytail that stays as it is.

    Ids that are registered already stay as they are.

    There is no ``max_episode_steps``: the horizon is a parameter of the environment, which truncates by
    itself.

    >>> register_ids()
    >>> gymnasium.spec("heavytail/SixArms-v0").kwargs
    {'name': 'six_arms'}
    """
    for file in sorted(ENVS.glob("[!_]*.py")):
        if file.stem.startswith(CHANGING):
            continue
        env_id = id_of(file.stem)
        if env_id not in gymnasium.registry:  # to register again would warn
            gymnasium.register(env_id, entry_point="heavytail.gym.env:MDPEnv", kwargs={"name": file.stem})


def id_of(name: str) -> str:
    """The Gymnasium id of an environment.

    >>> id_of("double_chain")
    'heavytail/DoubleChain-v0'
    """
    return f"heavytail/{''.join(word.capitalize() for word in name.split('_'))}-v0"
