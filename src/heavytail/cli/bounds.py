"""What theory says of an environment: bounds."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heavytail.cli.app import app, one_line_errors, print_table
from heavytail.cli.list import finite, parameter_of

if TYPE_CHECKING:
    from heavytail.bounds import Bound, Collection, Quantities, SampleSize, Steps

PLACES = {
    "heavy_ucrl2": "theorem 1",
    "heavy_ucrl2_gap": "theorem 2, any lambda",
    "heavy_ucrl2_expected": "theorem 2, by the gap",
    "changing": "theorem 3",
    "ucrl2": "Jaksch et al., theorem 2",
    "lower_bound": "theorem 6",
    "heavy_q_hoeffding": "theorem 4",
    "heavy_q_bernstein": "theorem 5",
    "q_learning": "Jin et al., theorem 1",
    "ucbvi": "Azar et al., theorem 1",
    "episodic_lower_bound": "theorem 6, episodes",
    "heavy_ucrl2_sample_size": "corollary 1: average regret at most lambda",
    "heavy_tail_condition": "lemma 3: the heavy tail rules",
    "heavy_q_learning_sample_size": "after theorem 4: average regret at most lambda",
    "hard_instance_steps": "theorem 6: its instances exist",
}


@app.command()
def bounds(
    env: Annotated[str, typer.Argument(help="an environment; `heavytail list envs` lists them")],
    parameters: Annotated[list[str] | None, typer.Argument(help="its parameters as NAME=VALUE")] = None,
    *,
    steps: Annotated[float, typer.Option("--steps", help="T")] = 1e7,
    delta: Annotated[float, typer.Option("--delta", help="one minus the confidence")] = 0.05,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", help="of the moment of order 1 + epsilon; halfway to the tail index if left out"
        ),
    ] = None,
    accuracy: Annotated[float, typer.Option("--accuracy", help="lambda, an average regret")] = 0.1,
    changes: Annotated[int, typer.Option("--changes", help="l, one more than the number of changes")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="draw the bounds against T: an .svg or .png file")
    ] = None,
) -> None:
    """Print what theory says of an environment.

    Its exact quantities, every bound, which term rules and what says nothing.
    """
    import heavytail as ht
    from heavytail.bounds import bounds_at, draw_bounds, quantities_of

    with one_line_errors():
        found = quantities_of(ht.make_mdp(env, **dict(map(parameter_of, parameters or []))), epsilon)
        tight = bounds_at(found, steps, delta, accuracy=accuracy, changes=changes, constants="tight")
        paper = bounds_at(found, steps, delta, accuracy=accuracy, changes=changes, constants="paper")
        if plot:
            from heavytail.files import save_figure

            save_figure(
                draw_bounds(
                    found,
                    steps,
                    delta,
                    accuracy=accuracy,
                    changes=changes,
                    title=" ".join([env, *(parameters or [])]),
                ),
                plot,
            )
    if as_json:
        asked = {"steps": steps, "delta": delta, "accuracy": accuracy, "changes": changes}
        typer.echo(
            json.dumps(
                finite({"env": env, "parameters": parameters or [], **asked, **_as_json(tight, paper)}),
                indent=1,
                allow_nan=False,
            )
        )
        return
    _print(" ".join([env, *(parameters or [])]), found, tight, paper, steps, delta)


def _print(
    title: str, found: "Quantities", tight: "Collection", paper: "Collection", steps: float, delta: float
) -> None:
    typer.echo(f"{title}\n")
    print_table(
        "what is exactly true", [{"quantity": name, "value": value} for name, value in asdict(found).items()]
    )
    rows = [
        _row(name, bound, paper.regret[name], steps * (found.r_max - found.r_min))
        for name, bound in tight.regret.items()
    ]
    print_table(f"regret, T = {steps:g}, delta = {delta:g}", rows)
    print_table("steps", [_steps_row(name, each, paper.steps[name]) for name, each in tight.steps.items()])
    for name, reason in tight.left_out.items():
        typer.echo(f"{name} left out: {reason}")


def _row(name: str, tight: "Bound", paper: "Bound", trivial: float) -> dict[str, Any]:
    return {
        "bound": name,
        "where": PLACES[name],
        "tight": _digits(float(tight.log10_total)),
        "says": _says(tight),
        "per R T": _digits(float(tight.log10_total - math.log10(trivial)))
        if trivial > 0 and not tight.is_lower
        else None,
        "rules": str(tight.rules).replace("_", " "),
        "overtakes at": _digits(float(tight.log10_crossing)),
        "paper": _digits(float(paper.log10_total)),
        "paper says": _says(paper),
    }


def _says(bound: "Bound") -> str:
    """What is to be known of a bound before it is believed."""
    words = {"vacuous": bool(bound.vacuous), "order": bound.kind == "order", "out of scope": not bound.holds}
    return ", ".join(word for word, so in words.items() if so)


def _steps_row(name: str, tight: "Steps | SampleSize", paper: "Steps | SampleSize") -> dict[str, Any]:
    return {
        "steps": name,
        "where": PLACES[name],
        **{key: _digits(float(_total(each).log10)) for key, each in (("tight", tight), ("paper", paper))},
    }


def _total(steps: "Steps | SampleSize") -> "Steps":
    return steps.total if hasattr(steps, "total") else steps


def _digits(log10: float) -> str:
    """A number by its decimal logarithm."""
    if log10 != log10:  # noqa: PLR0124 - NaN
        return "-"
    if abs(log10) == float("inf"):
        return "never" if log10 > 0 else "0"
    return f"{10**log10:.3g}" if log10 < 15 else f"10^{log10:.1f}"


def _as_json(tight: "Collection", paper: "Collection") -> dict[str, Any]:
    both = {"tight": tight, "paper": paper}
    return {
        "quantities": asdict(tight.quantities),
        "regret": {
            name: {"where": PLACES[name], **{key: _of_bound(each.regret[name]) for key, each in both.items()}}
            for name in tight.regret
        },
        "steps_needed": {
            name: {
                "where": PLACES[name],
                **{f"log10_{key}": float(_total(each.steps[name]).log10) for key, each in both.items()},
            }
            for name in tight.steps
        },
        "left_out": tight.left_out,
    }


def _of_bound(bound: "Bound") -> dict[str, Any]:
    crossing = float(bound.log10_crossing)
    return {
        **{
            name: float(getattr(bound, name))
            for name in ("transitions", "heavy_tail", "lower_order", "remainder", "total", "log10_total")
        },
        "rules": str(bound.rules),
        "vacuous": bool(bound.vacuous),
        "holds": bool(bound.holds),
        "kind": bound.kind,
        "log10_crossing": None if crossing != crossing else crossing,  # noqa: PLR0124 - NaN
    }
