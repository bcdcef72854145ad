"""Deep agents made up in no time.

Episodes of a mountain car become shorter as they would, the sooner the better noise is kept out. No JAX, no
networks.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from heavytail.arrays import Ints
from heavytail.deep.settings import agent_parameters, complete_parameters
from heavytail.studies import backends
from heavytail.studies.backends.backend import RunCurve, RunResult, WorkContext

if TYPE_CHECKING:
    from heavytail.studies.part import Part

CAP, BEST = 200, 110  # steps of an episode
SPEC: dict[str, Any] = {
    "name": "deep",
    "title": "Deep agents",
    "steps": 4000,
    "seeds": 6,
    "checkpoints": 40,
    "envs": {
        "quiet": {"env": "mountain_car", "label": "noise 1", "parameters": {"noise_scale": 1.0}},
        "loud": {"env": "mountain_car", "label": "noise 5", "parameters": {"noise_scale": 5.0}},
        "louder": {"env": "mountain_car", "label": "noise 20", "parameters": {"noise_scale": 20.0}},
    },
    "agents": {
        "plain": {
            "agent": "heavy_dqn",
            "label": "unclipped",
            "setting": "baseline",
            "parameters": {"transform": "none"},
        },
        "clipped": {
            "agent": "heavy_dqn",
            "label": "clipped",
            "setting": "baseline",
            "parameters": {"transform": "clip"},
            "grid": {"clip": [1.0, 5.0, 10.0]},
        },
        "heavy": {
            "agent": "heavy_dqn",
            "label": "Heavy-DQN",
            "setting": "truncating",
            "grid": {"coefficient": [0.005, 0.015, 0.05], "learning_rate": [0.0001, 0.001]},
        },
    },
    "tuning": {"seeds": 2, "share": 0.5},
    "statistics": {"resamples": 100, "permutations": 200},
    "claims": [
        {
            "claim": "Truncation helps.",
            "conditions": [{"test": "better", "agent": "heavy", "than": "plain", "envs": ["loud"]}],
        },
        {
            "claim": "It solves the task.",
            "conditions": [{"test": "at_least", "agent": "heavy", "value": -180.0, "envs": ["quiet"]}],
        },
        {
            "claim": "It learns late.",
            "conditions": [{"test": "at_most", "agent": "heavy", "metric": "first_tenth", "value": -100.0}],
        },
        {
            "claim": "It leaves most rewards alone.",
            "conditions": [
                {
                    "test": "at_most",
                    "agent": "heavy",
                    "metric": "counter",
                    "counter": "truncated",
                    "value": 2000.0,
                }
            ],
        },
    ],
}


class MadeUp:
    """A backend whose curves are made up."""

    unit: Literal["episode", "step"] = "step"
    horizon = 1
    varying: frozenset[str] = frozenset({"coefficient", "clip", "transform", "learning_rate"})
    max_runs: int | None = 8
    longest_episode = 1
    is_exclusive = False

    def __init__(self, env: str, parameters: Mapping[str, Any]) -> None:
        self.noise = float(parameters.get("noise_scale", 1.0))

    def best(self, at: Ints) -> None:
        """The best policy is unknown."""

    def resolve_parameters(self, agent: str, parameters: Mapping[str, Any], steps: int) -> dict[str, Any]:
        complete = complete_parameters("mountain_car")
        return {**{name: complete[name] for name in agent_parameters("heavy_dqn")}, **parameters}

    def counter_names(self, agent: str, parameters: Mapping[str, Any]) -> Sequence[str]:
        return ("episodes", "truncated")

    def checkpoints(self, part: "Part") -> Ints:
        return np.arange(1, part.checkpoints + 1) * part.units // part.checkpoints

    def run(self, part: "Part", context: WorkContext) -> Iterator[RunResult]:
        for run in part.runs:
            yield self._run(part, run.parameters, np.random.default_rng(part.seed_for(run.replicate)))

    def made_with(self) -> dict[str, str]:
        return {}

    def _run(self, part: "Part", parameters: Mapping[str, Any], rng: np.random.Generator) -> RunCurve:
        at = self.checkpoints(part)
        share = {"none": 0.0, "clip": 0.5, "zero": parameters["coefficient"] * self.noise}[
            parameters["transform"]
        ]
        off = abs(np.log(parameters["coefficient"] / 0.015)) + 1000.0 * parameters["learning_rate"]
        harms = {"none": 1.0, "clip": 0.2 * parameters["clip"], "zero": 0.1 + 0.2 * off}
        harm = self.noise * harms[parameters["transform"]]
        ends = np.cumsum(self._lengths(part.units, harm, rng))
        ended = np.searchsorted(ends, at, side="right")
        returns = np.concatenate([[0.0], -ends.astype(np.float64)])  # every step costs 1
        counters = {"episodes": ended.astype(np.float64), "truncated": np.floor(share * at)}
        return RunCurve(at, returns[ended], None, None, counters)

    def _lengths(self, units: int, harm: float, rng: np.random.Generator) -> list[int]:
        """The lengths of episodes, until there are enough steps."""
        lengths: list[int] = []
        while sum(lengths) < units:
            learnt = (sum(lengths) / units) * rng.uniform(0.8, 1.0) / (1.0 + 0.2 * harm)
            lengths.append(round(CAP - learnt * (CAP - BEST)))
        return lengths


@contextmanager
def made_up_deep() -> Iterator[None]:
    """Replace compiled environments by made-up ones."""
    backends._build.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(backends.BACKENDS, "deep", MadeUp)
        yield
    backends._build.cache_clear()
