"""The command `bounds`: the theory's bounds for an environment."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import heavytail as ht
from heavytail.cli._env_files import make_single_mdp
from heavytail.cli.app import app, parse_parameters, print_json, print_table

if TYPE_CHECKING:
    from heavytail import MDP
    from heavytail.bounds import Bound, Bounds
    from heavytail.bounds.catalogue import Theorem

EPSILON = "Rewards have a moment of order 1 + epsilon; by default halfway to the tail index."


@app.command()
def bounds(
    env: Annotated[
        str, typer.Argument(help="An environment (`heavytail list envs`), an MDP's .npz file, or a log.")
    ],
    parameters: Annotated[list[str] | None, typer.Argument(help="Its parameters as NAME=VALUE.")] = None,
    *,
    steps: Annotated[float, typer.Option("--steps", help="T, the number of steps.")] = 1e7,
    delta: Annotated[float, typer.Option("--delta", help="One minus the confidence.")] = 0.05,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help=EPSILON)] = None,
    accuracy: Annotated[
        float, typer.Option("--accuracy", help="lambda, the average regret of sample sizes.")
    ] = 0.1,
    changes: Annotated[int, typer.Option("--changes", help="l, one more than the number of changes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw the bounds against T, as .svg, .pdf or .png.")
    ] = None,
) -> None:
    """Print the exact quantities of an environment and every bound of the theory."""
    from heavytail.bounds import bounds_at, draw_bounds, quantities_of  # here, because `--help` does without
    from heavytail.bounds.catalogue import theorems

    title = " ".join([env, *(parameters or [])])
    options: dict[str, Any] = {"accuracy": accuracy, "changes": changes}
    quantities = quantities_of(_make(env, parse_parameters(parameters)), epsilon)
    tight = bounds_at(quantities, steps, delta, **options, constants="tight")
    paper = bounds_at(quantities, steps, delta, **options, constants="paper")
    if plot:
        from heavytail.files import save_figure  # here, for start-up

        save_figure(draw_bounds(quantities, steps, delta, **options, title=title), plot)
    if as_json:
        request = {"env": env, "parameters": parameters or [], "steps": steps, "delta": delta, **options}
        print_json({**request, **_as_json(theorems(), tight, paper)})
        return
    typer.echo(f"{title}\n")
    rows = [{"quantity": name, "value": value} for name, value in asdict(quantities).items()]
    print_table("what is exactly true", rows)
    _print_bounds(theorems(), tight, paper, f"regret, T = {steps:g}, delta = {delta:g}", steps)


def _make(env: str, parameters: dict[str, Any]) -> "MDP":
    mdp = make_single_mdp(env, parameters, "bounds are of")
    return mdp.mdp if isinstance(mdp, ht.LoggedMDP) else mdp


def _print_bounds(
    entries: "dict[str, Theorem]", tight: "Bounds", paper: "Bounds", title: str, steps: float
) -> None:
    trivial = steps * (tight.quantities.r_max - tight.quantities.r_min)
    regret = [
        {"bound": name, "where": entries[name].where, **_regret_row(bound, paper.regret[name], trivial)}
        for name, bound in tight.regret.items()
    ]
    print_table(title, regret)
    needed = [
        {
            "steps": name,
            "where": entries[name].where,
            "tight": _format_power(float(size.log10)),
            "paper": _format_power(float(paper.steps[name].log10)),
        }
        for name, size in tight.steps.items()
    ]
    print_table("steps", needed)
    for name, reason in tight.left_out.items():
        typer.echo(f"{name} left out: {reason}")


def _regret_row(tight: "Bound", paper: "Bound", trivial: float) -> dict[str, Any]:
    log10 = float(tight.log10_total)
    comparable = trivial > 0 and not tight.is_lower
    return {
        "tight": _format_power(log10),
        "says": _caveats(tight),
        "per R T": _format_power(log10 - math.log10(trivial)) if comparable else None,
        "rules": str(tight.rules).replace("_", " "),
        "overtakes at": _format_power(float(tight.log10_crossing)),
        "paper": _format_power(float(paper.log10_total)),
        "paper says": _caveats(paper),
    }


def _caveats(bound: "Bound") -> str:
    """Return the caveats of a bound: reasons why it says less than its number."""
    caveats = {
        "vacuous": bool(bound.vacuous),
        "order": bound.kind == "order",
        "out of scope": not bound.holds,
    }
    return ", ".join(words for words, applies in caveats.items() if applies)


def _format_power(log10: float) -> str:
    """Format a number by its decimal logarithm."""
    if math.isnan(log10):
        return "-"
    if math.isinf(log10):
        return "never" if log10 > 0 else "0"
    return f"{10**log10:.3g}" if log10 < 15 else f"10^{log10:.1f}"


def _as_json(entries: "dict[str, Theorem]", tight: "Bounds", paper: "Bounds") -> dict[str, Any]:
    both = {"tight": tight, "paper": paper}
    regret = {name: {key: _bound_json(c.regret[name]) for key, c in both.items()} for name in tight.regret}
    needed = {
        name: {f"log10_{key}": float(c.steps[name].log10) for key, c in both.items()} for name in tight.steps
    }
    return {
        "quantities": asdict(tight.quantities),
        "regret": {name: {"where": entries[name].where, **row} for name, row in regret.items()},
        "steps_needed": {name: {"where": entries[name].where, **row} for name, row in needed.items()},
        "left_out": tight.left_out,
    }


def _bound_json(bound: "Bound") -> dict[str, Any]:
    crossing = float(bound.log10_crossing)
    names = ("transitions", "heavy_tail", "lower_order", "remainder", "total", "log10_total")
    return {
        **{name: float(getattr(bound, name)) for name in names},
        "rules": str(bound.rules),
        "vacuous": bool(bound.vacuous),
        "holds": bool(bound.holds),
        "kind": bound.kind,
        "log10_crossing": None if math.isnan(crossing) else crossing,
    }
