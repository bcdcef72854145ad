"""A part of a study: the unit of work of a worker, and the content of one file.

A *run* is one agent with its parameters in one environment for a number of episodes (or steps), on one seed.
A *part* is a few runs that differ in their seed and, if the backend runs them side by side, in some
parameters. Its id is a digest of everything its results depend on.

Tuning, evaluation and sweeps have separate seeds: a run's seed is made from the study's seed, the phase and
the replicate.
"""

from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from heavytail.registry import version_of
from heavytail.studies.specs.spec import Kind, Regret, SpawnKey, canonical, env_kind, spawn_seed

# raised by hand when results change, tests/golden says when; of one agent only: `register(version=...)`
RESULTS_VERSION: dict[Kind, int] = {"tabular": 3, "deep": 1}
Phase: TypeAlias = Literal["tuning", "evaluation", "map"]
PHASES: dict[Phase, SpawnKey] = {
    "tuning": SpawnKey.TUNING,
    "evaluation": SpawnKey.EVALUATION,
    "map": SpawnKey.SWEEPS,
}


class Run(NamedTuple):
    """One run of a part."""

    id: str
    replicate: int
    parameters: dict[str, Any]


class Part(BaseModel):
    """Some runs that are computed together."""

    model_config = ConfigDict(frozen=True)

    env: str
    env_parameters: dict[str, Any]
    agent: str
    parameters: dict[str, Any]
    units: int  # episodes, or steps in a continuing problem
    steps: int  # at most so many in a run
    checkpoints: int
    spacing: Literal["even", "log"]
    seed: int
    phase: Phase
    replicates: tuple[int, ...]  # one for each run
    regret: Regret = "rewards"
    variants: tuple[dict[str, Any], ...] = ()  # where runs differ in parameters too: in which, run by run
    # what the spec calls agent and environment, run by run, or once for all; no result depends on it
    keys: tuple[tuple[str, str], ...] = ()

    @cached_property
    def id(self) -> str:
        """A digest of everything that the results depend on."""
        # without defaults: a field that most parts do without changes no id
        return self._digest(self.model_dump(mode="json", exclude_defaults=True, exclude={"keys"}))

    @cached_property
    def shared(self) -> dict[str, Any]:
        """The fields that are the same for all its runs."""
        fields = self.model_dump(mode="json", exclude={"replicates", "variants", "keys"})
        if self.regret == "rewards":
            del fields["regret"]  # runs of older versions keep their ids
        return fields

    @property
    def run_keys(self) -> tuple[tuple[str, str], ...]:
        """The keys of agent and environment of each run, comma-separated if several share the run."""
        return self.keys * len(self.replicates) if len(self.keys) == 1 else self.keys

    def _digest(self, fields: Mapping[str, Any]) -> str:
        if self.agent_versions:
            fields = {**fields, "agent_versions": self.agent_versions}
        return sha256(canonical([self.results_version, fields]).encode()).hexdigest()[:20]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Its runs."""
        variants = self.variants or ({},) * len(self.replicates)
        return tuple(
            Run(self.run_id(r, variant), r, {**self.parameters, **variant})
            for r, variant in zip(self.replicates, variants, strict=True)
        )

    @property
    def results_version(self) -> int:
        """The version of the results of its kind of runs."""
        return RESULTS_VERSION[env_kind(self.env)]

    @cached_property
    def agent_versions(self) -> dict[str, int]:
        """The versions of its agent, and of an agent inside it, if they are not the first."""
        names = [self.agent, self.parameters.get("agent")]
        versions = {name: version_of("agent", name) for name in names if isinstance(name, str)}
        return {name: version for name, version in versions.items() if version > 1}

    @cached_property
    def environment(self) -> tuple[str, str]:
        """Its environment with its parameters, as a key."""
        return self.env, canonical(self.env_parameters)

    @cached_property
    def combination(self) -> str:
        """A key of the code compiled for it.

        Agents that differ only in numbers have the same kernels; each process compiles deep ones for itself.
        """
        if env_kind(self.env) == "deep":
            return self.id
        words = {key: value for key, value in self.parameters.items() if isinstance(value, (str, bool, dict))}
        return canonical([self.agent, words])

    def changed(self, **changes: Any) -> "Part":
        """Copy it with other values of some fields; `model_copy` would copy the cached id too."""
        fields = {name: getattr(self, name) for name in Part.model_fields}
        return Part.model_construct(**{**fields, **changes})

    def run_id(self, replicate: int, variant: Mapping[str, Any] | None = None) -> str:
        """Return the id of one of its runs: that of a part with only this run."""
        return self._digest(
            {**self.shared, "replicates": [replicate], "parameters": {**self.parameters, **(variant or {})}}
        )

    def seed_for(self, replicate: int) -> np.random.SeedSequence:
        """Return the seed of one of its runs."""
        return spawn_seed(self.seed, PHASES[self.phase], replicate)
