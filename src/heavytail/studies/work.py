"""One part of a study, done: its runs as a table, and the table as the bytes of a Parquet file.

The bytes depend on the part and on nothing else: not on the worker, the machine's load or the clock. A run that raises becomes a row with its error, and the others go on.
"""

import io
import json
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.envs import make_mdp
from heavytail.learner import make_agent
from heavytail.mdp import MDP
from heavytail.planning import gain, optimal_value
from heavytail.studies.plan import Part
from heavytail.studies.spec import canonical

if TYPE_CHECKING:
    import pyarrow as pa


def do_part(part: Part) -> bytes:
    """Run it."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table_of(part), out, compression="zstd")
    return out.getvalue()


def table_of(part: Part) -> "pa.Table":
    """The curves of all runs, one row per checkpoint; cumulative rewards, and regret against the best policy."""
    import pyarrow as pa

    rows: dict[str, list[Any]] = {name: [] for name in schema().names}
    for replicate in part.replicates:
        for row in _run(part, replicate):
            for name, value in row.items():
                rows[name].append(value)
    return pa.table(rows, schema=schema())


def schema() -> "pa.Schema":
    """The columns of a part. `at` counts episodes, or steps in a continuing problem."""
    import pyarrow as pa

    return pa.schema(
        [
            ("run", pa.string()),
            ("phase", pa.string()),
            ("env", pa.string()),
            ("env_parameters", pa.string()),
            ("agent", pa.string()),
            ("parameters", pa.string()),
            ("replicate", pa.int32()),
            ("at", pa.int64()),
            ("mean_reward", pa.float64()),
            ("realised_reward", pa.float64()),
            ("regret", pa.float64()),
            ("counters", pa.map_(pa.string(), pa.float64())),
            ("error", pa.string()),
        ]
    )


@lru_cache(maxsize=8)
def _world(env: str, parameters: str) -> tuple[MDP, float]:
    """An environment, and what the best policy earns there in an episode or a step."""
    mdp = make_mdp(env, **json.loads(parameters))
    return mdp, optimal_value(mdp) if mdp.horizon else gain(mdp)


def _run(part: Part, replicate: int) -> list[dict[str, Any]]:
    same = {
        "run": part.run_id(replicate),
        "phase": part.phase,
        "env": part.env,
        "env_parameters": canonical(part.env_parameters),
        "agent": part.agent,
        "parameters": canonical(part.parameters),
        "replicate": replicate,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a study plans its own steps; nobody reads a worker's warnings
            mdp, optimum = _world(part.env, canonical(part.env_parameters))
            learner = make_agent(part.agent, mdp, seed=part.seed_of(replicate), **part.parameters)
            amount = {learner.unit: part.units}
            curve = learner.learn(**amount, checkpoints=part.checkpoints, spacing=part.spacing)  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded, and the other runs go on
        nothing: dict[str, Any] = {"mean_reward": None, "realised_reward": None, "regret": None, "counters": []}
        return [{**same, "at": 0, **nothing, "error": f"{type(error).__name__}: {error}".splitlines()[0]}]
    regret = optimum * curve.at - curve.mean_reward
    names = list(curve.counters)
    counters = np.column_stack([curve.counters[name] for name in names]) if names else np.zeros((len(curve.at), 0))
    return [
        {
            **same,
            "at": int(curve.at[i]),
            "mean_reward": float(curve.mean_reward[i]),
            "realised_reward": float(curve.realised_reward[i]),
            "regret": float(regret[i]),
            "counters": list(zip(names, counters[i].tolist(), strict=True)),
            "error": None,
        }
        for i in range(len(curve.at))
    ]
