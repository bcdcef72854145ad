"""How much of a regret is luck: that of the best policy itself, in tasks of studies/tell-it-nothing."""

import math
from tempfile import TemporaryDirectory

import numpy as np

import heavytail as ht
from _figures import HERE, print_table
from heavytail.arrays import Floats
from heavytail.studies.specs.reading import read_spec

SPEC = HERE.parent / "studies" / "tell-it-nothing" / "spec.toml"
TASKS = ("river_swim", "two_state", "six_arms", "double_chain")


def regrets() -> dict[str, Floats]:
    """Return the final regrets of the best policy in each task, on the study's seeds."""
    whole = read_spec(SPEC)
    tasks = {key: whole.envs[key].model_dump(exclude_none=True) for key in TASKS}
    spec = {"name": "luck", "episodes": whole.episodes, "seeds": whole.seeds, "checkpoints": 10}
    with TemporaryDirectory() as folder:
        study = ht.Study({**spec, "envs": tasks, "agents": {"optimal": {}}}, folder)
        study.run()
        last = study.curves().groupby(["env_key", "run"]).last()
    return {key: last.loc[key, "regret"].to_numpy() for key in TASKS}


def main() -> None:
    """Print the spread of a run, and the error of a median."""
    rows = []
    for task, found in regrets().items():
        spread = float(np.std(found, ddof=1))
        error = math.sqrt(math.pi / 2.0 / len(found)) * spread  # of the median, were they normal
        rows.append([task, f"{spread:,.0f}", f"{error:,.0f}"])
    print_table("Regret of the best policy", ["task", "standard deviation", "error of a median"], rows)


if __name__ == "__main__":
    main()
