"""The backend of compiled environments: deep agents, all runs of a part side by side in one program.

It runs on a GPU if JAX sees one. A part is a batch of fixed width. It is never repacked, since a run on its
own and the same run beside others differ in their last bits. A long part saves its state in its resume file
and continues from there, if JAX and the device are the same. The file holds the part's id, and the settings
and seeds of its runs, all of which must match the part.

A GPU does one part at a time. On a CPU each part has one thread: programs of small matrices gain nothing from
more, and results do not depend on the number of cores.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heavytail.arrays import Floats, Ints
from heavytail.deep.settings import (
    ENV_PARAMETERS,
    PER_RUN,
    agent_parameters,
    complete_parameters,
    models_rewards,
)
from heavytail.errors import InputError, suggestion
from heavytail.studies.backends.backend import (
    BELIEFS,
    EPISODES,
    TRUNCATED,
    RunCurve,
    RunResult,
    WorkContext,
    failure,
    require_owner,
    take_up,
    throttled,
)
from heavytail.studies.part import Part
from heavytail.training.curve import place_checkpoints

if TYPE_CHECKING:
    from heavytail.deep import DeepCurve, DeepLearner

MAX_RUNS = 128
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


class DeepBackend:
    """A compiled environment."""

    unit: Literal["episode", "step"] = "step"
    horizon = 1
    varying = frozenset(PER_RUN) - {"seed", *ENV_PARAMETERS}
    max_runs: int | None = MAX_RUNS

    def __init__(self, env: str, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in ENV_PARAMETERS:
                raise InputError(f"{env} has no parameter {name!r}; {suggestion(name, ENV_PARAMETERS)}")
        self.env, self.given = env, dict(given)
        self.longest_episode = int(complete_parameters(env, **given)["cap"])

    @property
    def is_exclusive(self) -> bool:
        """True if there is a GPU, which one part takes for itself unless NVIDIA's MPS shares it."""
        return gpu_there() and "CUDA_MPS_PIPE_DIRECTORY" not in os.environ

    def best(self, at: Ints) -> Floats | None:
        """Return None: the best policy is unknown."""
        return None

    def resolve_parameters(self, agent: str, given: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Check an agent's parameters and fill in the defaults; schedules end with the run."""
        complete = complete_parameters(self.env, agent, **self.given, **given, total_steps=steps)
        return {name: complete[name] for name in ("total_steps", *agent_parameters(agent))}

    def counter_names(self, agent: str, given: Mapping[str, Any]) -> Sequence[str]:
        """Return the counters: episodes that ended, and transformed rewards or beliefs about rewards."""
        return (EPISODES, *(BELIEFS if models_rewards(agent) else (TRUNCATED,)))

    def checkpoints(self, part: Part) -> Ints:
        """Return the steps at which the runs of a part are recorded: ends of periods."""
        period: int = part.parameters["target_every"]
        periods = part.parameters["total_steps"] // period
        return place_checkpoints(0, periods, min(part.checkpoints, periods), part.spacing) * period

    def run(self, part: Part, context: WorkContext) -> Iterator[RunResult]:
        """Compute all runs side by side."""
        _keep_to_one_thread()
        try:
            curve = self._learn(part, context)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - it is recorded, and other parts continue
            yield from [failure(error)] * len(part.runs)
            return
        for i in range(len(part.runs)):
            yield RunCurve(curve.steps, curve.clean_return[i], None, None, _counters(curve, i))

    def made_with(self) -> dict[str, str]:
        """Return the version of JAX, and the device."""
        from heavytail.deep.learner import made_with  # here, because it imports JAX

        return made_with()

    def _learn(self, part: Part, context: WorkContext) -> "DeepCurve":
        learner = self._begin(part, context)
        save = _make_saver(learner, context.resume_file)

        def on_chunk(steps: int) -> None:
            context.report_progress(steps / learner.settings.total_steps)
            save()

        return learner.learn(at=self.checkpoints(part).tolist(), on_chunk=on_chunk)

    def _begin(self, part: Part, context: WorkContext) -> "DeepLearner":
        """Load the batch as it was left, or start a new one."""
        from heavytail import deep  # here, because its agents import JAX

        left = take_up(context.resume_file, partial(self._load, part), context.say)
        if left is not None and left.made_with == self.made_with():
            return left
        make: Callable[..., DeepLearner] = getattr(deep, part.agent)
        learner = make(self.env, runs=_varied(part), **self.given, **part.parameters)
        learner.note = part.id
        return learner

    def _load(self, part: Part, resume_file: Path) -> "DeepLearner":
        """Load the batch as it was left; InputError if the file is not of this part."""
        from heavytail.deep import DeepLearner  # here, because it imports JAX

        learner = DeepLearner.load(resume_file)
        require_owner(resume_file, learner.note, part.id)
        shared = {**self.given, **part.parameters}
        runs = [complete_parameters(self.env, part.agent, **{**shared, **run}) for run in _varied(part)]
        theirs = (learner.env.name, learner.settings.agent, learner.complete_parameters())
        if theirs != (self.env, part.agent, runs):
            raise InputError(f"{resume_file} does not hold the runs of its part")
        marks = self.checkpoints(part)
        if learner.curve.steps.tolist() != marks[marks <= learner.steps].tolist():
            raise InputError(f"{resume_file} does not hold the checkpoints of its part")
        return learner


@cache
def gpu_there() -> bool:
    """Return whether JAX sees a GPU.

    Another process is asked, since JAX takes most of a GPU's memory as soon as it looks.
    """
    if not list(Path("/dev").glob("nvidia[0-9]*")) and not Path("/dev/kfd").exists():
        return False
    question = "import jax; print(jax.default_backend())"
    # This Python and a constant script: nothing from outside.
    command = [sys.executable, "-c", question]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return asked.stdout.strip() in ("gpu", "cuda", "rocm")


def _keep_to_one_thread() -> None:
    """Let JAX use one thread: it reads this when it starts, and ignores it later."""
    flags = os.environ.get("XLA_FLAGS", "")
    if ONE_THREAD not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {ONE_THREAD}".strip()


def _counters(curve: "DeepCurve", i: int) -> dict[str, Floats]:
    """Return the counters of a run, and its beliefs."""
    episodes = {EPISODES: curve.episodes[i].astype(float)}
    if curve.beliefs is None:
        return {**episodes, TRUNCATED: curve.truncated[i].astype(float)}
    return {**episodes, **{name: getattr(curve.beliefs, name)[i] for name in BELIEFS}}


def _varied(part: Part) -> list[dict[str, Any]]:
    """That in which the runs of a part differ, run by run."""
    return [
        {**variant, "seed": int(part.seed_for(r).generate_state(1)[0])}
        for r, variant in zip(part.replicates, part.variants, strict=True)
    ]


def _make_saver(learner: "DeepLearner", resume_file: Path | None) -> Callable[[], None]:
    """Make what saves a learner now and then."""
    if resume_file is None:
        return lambda: None
    resume_file.parent.mkdir(parents=True, exist_ok=True)
    return throttled(lambda: learner.save(resume_file))
