"""The command `diagnose`: how heavy the tails of rewards in a file are, and what to do about it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heavytail.cli.app import app, print_json, print_table
from heavytail.errors import InputError, printable

if TYPE_CHECKING:
    from heavytail.tails import Diagnosis, Tail
    from heavytail.tails.reward_table import Label

MAX_ROWS = 6  # of a picture
COLUMNS = ("rewards", "needed", "upper index", "lower index", "variance", "mean", "scale", "largest")


@app.command()
def diagnose(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per reward.")],
    *,
    column: Annotated[str, typer.Option("--column", "-c", help="The column of rewards.")] = "reward",
    by: Annotated[
        str,
        typer.Option("--by", help="Columns that define groups, such as state,action: one row per group."),
    ] = "",
    skip_empty: Annotated[
        bool,
        typer.Option("--skip-empty", help="Skip rows without a reward, such as the first of daily returns."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", help="Also draw the tails of the heaviest groups, as .svg, .pdf or .png."),
    ] = None,
) -> None:
    """Diagnose how heavy the tails of rewards are, and which agent suits them."""
    from heavytail.tails import read_rewards  # here, because `--help` does without

    names = [name.strip() for name in by.split(",") if name.strip()]
    diagnoses, left_out = _diagnose_all(names, read_rewards(file, column, names, skip_empty=skip_empty))
    if figure:
        _draw(names, diagnoses, figure)
    if as_json:
        groups = [
            {"group": dict(zip(names, label, strict=True)), **d.to_dict()} for label, d in diagnoses.items()
        ]
        left = [
            {"group": dict(zip(names, label, strict=True)), "why": why} for label, why in left_out.items()
        ]
        print_json({"file": str(file), "column": column, "groups": groups, "left_out": left})
    elif names:
        _print_groups(f"{file}: {column}", names, diagnoses)
    else:
        typer.echo(f"{printable(f'{file}: {column}')}\n{diagnoses[()]!r}")
    if left_out:
        total = len(diagnoses) + len(left_out)
        some = f"{len(left_out):,} of {total:,} groups left out, {_example(names, left_out)}"
        typer.echo(f"heavytail: {InputError(some)}", err=True)


def _diagnose_all(
    names: list[str], rewards: "dict[Label, Any]"
) -> "tuple[dict[Label, Diagnosis], dict[Label, str]]":
    """Diagnose each group, the heaviest first; give a reason for each group left out."""
    from heavytail.tails import diagnose as diagnose_rewards

    diagnoses, left_out = {}, {}
    for label, samples in rewards.items():
        try:
            diagnoses[label] = diagnose_rewards(samples)
        except InputError as error:
            left_out[label] = str(error)
    if not diagnoses:
        raise InputError(left_out.get((), f"no group can be diagnosed, {_example(names, left_out)}"))
    return dict(sorted(diagnoses.items(), key=lambda item: _least_index(item[1]))), left_out


def _example(names: list[str], left_out: "dict[Label, str]") -> str:
    label, why = next(iter(left_out.items()))
    return f"such as {_show_label(names, label)}: {why}"


def _show_label(names: list[str], label: "Label") -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, label, strict=True))


def _least_index(found: "Diagnosis") -> float:
    return min(found.upper.index_low, found.lower.index_low)


def _print_groups(title: str, names: list[str], diagnoses: "dict[Label, Diagnosis]") -> None:
    heads = [f"{name} =" if name in COLUMNS else name for name in names]
    rows = [{**dict(zip(heads, label, strict=True)), **_row(found)} for label, found in diagnoses.items()]
    print_table(f"{title}, the heaviest first", rows)
    needs = [found.need for found in diagnoses.values()]
    counts = ", ".join(f"{answer} {needs.count(answer):,}" for answer in ("yes", "perhaps", "no"))
    typer.echo(f"needs heavytail: {counts}")


def _row(found: "Diagnosis") -> dict[str, Any]:
    from heavytail.tails.advice import show_moment  # here, for start-up

    cells = (
        found.n,
        found.need,
        _show_index(found.upper),
        _show_index(found.lower),
        show_moment(found.variance_finite),
        f"{found.mean:.3g} ({found.mean_low:.3g} to {found.mean_high:.3g})",
        f"{found.scale:.3g}",
        f"{found.largest_share:.2g}",
    )
    return dict(zip(COLUMNS, cells, strict=True))


def _show_index(tail: "Tail") -> str:
    if tail.unknown or tail.ends:
        return "unknown" if tail.unknown else "bounded"
    return f"{tail.index:.3g} ({tail.index_low:.3g} to {tail.index_high:.3g})"


def _draw(names: list[str], diagnoses: "dict[Label, Diagnosis]", figure: Path) -> None:
    from heavytail.files import save_figure  # here, for start-up
    from heavytail.tails.plot import draw_diagnoses

    shown = list(diagnoses.items())[:MAX_ROWS]
    save_figure(draw_diagnoses({_show_label(names, label): found for label, found in shown}), figure)
