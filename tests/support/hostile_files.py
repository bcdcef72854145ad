"""Files of every registered agent with every one of their arrays altered: a script, since it may be the last.

It prints which file it is about to use, and what was neither refused in one line nor used without a fault.
"""

import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

from fuzz.mutation import mutate_array
from fuzz.targets.agent_files import LEARNT, learn, learners, use
from heavytail.agent_file import AgentFile, read_agent_file, write_agent_file
from heavytail.errors import InputError

ALTERED = ("agent/", "run_state/")  # what begins so: the fuzzer alters the rest as well


def main(folder: Path) -> None:
    """Alter arrays one at a time."""
    rng, path, refused = np.random.default_rng(0), folder / "agent.npz", 0
    for learner in learners():
        learn(learner, LEARNT)
        learner.save(path)
        metadata, arrays = read_agent_file(path)
        for name in filter(lambda name: name.startswith(ALTERED), arrays):
            print(learner.name, name, flush=True)  # noqa: T201 - a script
            altered = {**arrays, name: mutate_array(arrays[name], rng)}
            write_agent_file(path, AgentFile(metadata, altered))
            try:
                use(path)
            except InputError as error:
                refused += 1
                if "\n" in str(error):
                    print("FAULT", error)  # noqa: T201
            except Exception:  # noqa: BLE001 - that is what is looked for
                print("FAULT", traceback.format_exc())  # noqa: T201
    print("refused", refused)  # noqa: T201


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as temporary:
        main(Path(temporary))
