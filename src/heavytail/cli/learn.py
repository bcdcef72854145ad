"""The command `learn`: train an agent, draw its curve and save both."""

import csv
import inspect
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import heavytail as ht
from heavytail.cli._env_files import is_env_file, read_env_file
from heavytail.cli.app import Plugins, app, parse_parameters, use_plugins
from heavytail.errors import InputError, one_line, short_repr, suggestion
from heavytail.registry import find, is_registered, registered

if TYPE_CHECKING:
    from heavytail.training.curve import Curve
    from heavytail.training.learner import Learner

PARAMETERS = (
    "Parameters of the environment and the agent as NAME=VALUE; if both have one with that name, write"
    " env.NAME=VALUE or agent.NAME=VALUE. `heavytail list NAME` explains them."
)
AGENT, CURVE, PICTURE = "agent.npz", "curve.csv", "curve.svg"


@app.command()
def learn(
    env: Annotated[
        str,
        typer.Argument(
            help="An environment (`heavytail list envs`), a Gymnasium id such as FrozenLake-v1, an MDP's .npz"
            " file, or a log (.parquet or .csv)."
        ),
    ],
    parameters: Annotated[list[str] | None, typer.Argument(help=PARAMETERS)] = None,
    *,
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="An agent; `heavytail list agents` lists them.")
    ] = "heavy_psrl",
    episodes: Annotated[
        int | None, typer.Option("--episodes", "-n", min=1, help="How many episodes.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="How many steps, in a continuing problem.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of all random numbers.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new folder; by default results/ENV-AGENT.")
    ] = None,
    plugin: Plugins = None,
) -> None:
    """Train an agent, draw its curve and save both; Ctrl-C saves the state so far."""
    use_plugins(plugin)
    name = Path(env).stem if is_env_file(env) else env.replace("/", "-")
    folder = out or Path("results") / f"{name}-{agent}"
    if (folder / AGENT).exists():
        raise InputError(
            f"{folder / AGENT} exists already; choose another folder with --out, or continue with it in"
            " Python, by ht.load"
        )
    learner = _make_learner(env, agent, parse_parameters(parameters), seed)
    amount = _read_amount(learner, episodes, steps)
    _make_folder(folder)
    try:
        learner.learn(**amount, progress=True)
    finally:  # also after Ctrl-C
        written = _save(learner, folder)
        typer.echo(f"{folder}: {', '.join(written)}")
    _print_summary(learner)


def _make_learner(env: str, agent: str, given: dict[str, Any], seed: int) -> "Learner":
    names = {entry.name for entry in registered("env")}
    own = _share_out(env if env in names else None, agent, given)
    if env in names:
        return ht.make_agent(ht.make_mdp(env, **own["env"]), agent, seed=seed, **own["agent"])
    if is_env_file(env):
        return ht.make_agent(read_env_file(env, own["env"]), agent, seed=seed, **own["agent"])
    horizon = own["env"].pop("horizon", None)  # the learner's, not a parameter of Gymnasium's
    gym_env = _make_gymnasium(env, own["env"], names)
    return ht.make_agent(gym_env, agent, seed=seed, horizon=horizon, **own["agent"])


def _share_out(env: str | None, agent: str, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give each parameter to the agent or the environment, by prefix or by which has one of that name."""
    of_agent = [
        p.name for p in find("agent", agent).parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    of_env = find("env", env).parameters if env else {}
    own: dict[str, dict[str, Any]] = {"env": {}, "agent": {}}
    for key, value in given.items():
        prefix, dot, name = key.partition(".")
        if dot and prefix in own:
            own[prefix][name] = value
        elif key in of_agent and key in of_env:
            raise InputError(
                f"both {env} and {agent} have a parameter {key}; write env.{key}= or agent.{key}="
            )
        else:
            own["agent" if key in of_agent else "env"][key] = value
    return own


def _make_gymnasium(env: str, parameters: dict[str, Any], names: set[str]) -> Any:
    import gymnasium  # here, for start-up

    try:
        gymnasium.spec(env)
    except gymnasium.error.Error:
        if is_registered("deep_env", env):
            raise InputError(f"{env} is for deep agents: ht.deep.robust_dqn({env!r}), or a study") from None
        near = suggestion(env, names | set(gymnasium.registry))
        remedy = near if near.startswith("did") else "`heavytail list envs` lists ours"
        raise InputError(
            f"there is no environment {short_repr(env)}, neither of heavytail nor of Gymnasium; {remedy}"
        ) from None
    try:
        return gymnasium.make(env, **parameters)
    except Exception as error:  # noqa: BLE001 - whatever Gymnasium says of its parameters
        raise InputError(f"Gymnasium cannot make {env}: {one_line(error)}") from None


def _read_amount(learner: "Learner", episodes: int | None, steps: int | None) -> dict[str, Any]:
    given = episodes if learner.unit == "episodes" else steps
    if given is None:
        kind = "in episodes" if learner.unit == "episodes" else "continuing"
        raise InputError(f"this environment is {kind}; say how many {learner.unit}: --{learner.unit} 10000")
    return {learner.unit: given}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None


def _save(learner: "Learner", folder: Path) -> list[str]:
    """Write the agent and its curve, if any; return the names of the files."""
    from heavytail.files import one_line_write_errors, save_figure, write_whole

    learner.save(folder / AGENT)
    curve = learner.curve
    if curve is None or not len(curve.at):
        return [AGENT]
    rewards = {"mean_reward": curve.mean_reward, "realised_reward": curve.realised_reward}
    regret = {} if curve.mdp is None else {"regret": curve.regret}
    columns = {curve.unit: curve.at, **rewards, **regret, **curve.counters}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")  # without pandas, which is slow to import
    writer.writerow(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    writer.writerows([["" if math.isnan(x) else x for x in row] for row in rows])
    with one_line_write_errors(folder / CURVE):
        write_whole(folder / CURVE, lambda file: file.write(out.getvalue().encode()))
    save_figure(curve.plot(), folder / PICTURE)
    return [AGENT, CURVE, PICTURE]


def _print_summary(learner: "Learner") -> None:
    curve = learner.curve
    assert curve is not None
    unit = learner.unit.removesuffix("s")
    kind, rate = _last_tenth(curve)
    typer.echo(f"{kind} reward of the last tenth: {rate:.4g} per {unit}")
    if curve.mdp is not None:
        typer.echo(f"regret: {curve.regret[-1]:,.4g}")
        value = learner.policy_value()
        if value is not None:
            typer.echo(f"the current policy is worth {value:.4g} per {unit}")


def _last_tenth(curve: "Curve") -> tuple[str, float]:
    """Return the kind and size of the average reward in the last tenth of the checkpoints."""
    kind, total = "expected", curve.mean_reward
    if math.isnan(total[-1]):  # not known
        kind, total = "average", curve.realised_reward
    first = max(0, len(curve.at) - 1 - max(1, len(curve.at) // 10))
    return kind, float((total[-1] - total[first]) / max(1, curve.at[-1] - curve.at[first]))
