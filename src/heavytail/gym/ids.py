"""Ids for ``gymnasium.make``: one for each environment, as ``heavytail/SixArms-v0`` for ``six_arms``.

Importing heavytail registers them, so this file imports nothing but Gymnasium: environments are listed by
their files, not imported.
"""

from pathlib import Path

import gymnasium

ENVS_FOLDER = Path(__file__).parent.parent / "envs"
CHANGING = "changing_"  # begins the names of sequences of several MDPs, which have no Gymnasium id


def register_ids() -> None:
    """Register an id for each environment of heavytail that is a single MDP.

    Ids that are already registered stay unchanged. There is no ``max_episode_steps``: the horizon is a
    parameter of the environment, which truncates episodes itself.

    >>> register_ids()
    >>> gymnasium.spec("heavytail/SixArms-v0").kwargs
    {'name': 'six_arms'}
    """
    for file in sorted(ENVS_FOLDER.glob("[!_]*.py")):
        if file.stem.startswith(CHANGING):
            continue
        env_id = gymnasium_id(file.stem)
        if env_id not in gymnasium.registry:  # to register again would warn
            gymnasium.register(env_id, entry_point="heavytail.gym.env:MDPEnv", kwargs={"name": file.stem})


def gymnasium_id(name: str) -> str:
    """Return the Gymnasium id of an environment.

    >>> gymnasium_id("double_chain")
    'heavytail/DoubleChain-v0'
    """
    return f"heavytail/{''.join(word.capitalize() for word in name.split('_'))}-v0"
