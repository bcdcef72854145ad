"""The commands about studies: run, resume, status, report, reproduce."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from heavytail.cli.app import app, one_line_errors, print_table

if TYPE_CHECKING:
    from heavytail.studies.progress import Stage
    from heavytail.studies.study import Study


Out = Annotated[Path | None, typer.Option("--out", "-o", help="the study's folder; results/NAME if left out")]
Quick = Annotated[
    bool, typer.Option("--quick", help="fewer episodes and seeds, as the table 'quick' of the spec says")
]
EngineOption = Annotated[  # checked when the spec is read, since its plugins may add engines
    str, typer.Option("--engine", help="who computes: local, ray, cuda, inline, or an engine of a plugin")
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="parts at a time; all cores if left out")
]
Address = Annotated[
    str | None, typer.Option("--address", help="of a running Ray cluster; one is started here if left out")
]
Lanes = Annotated[
    int | None,
    typer.Option(
        "--lanes", min=1, help="runs at a time on a GPU; 65,536 or what fits its memory if left out"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="one JSON object per line")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="write the report when all is done")]


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="a study: spec.toml")],
    *,
    out: Out = None,
    quick: Quick = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    lanes: Lanes = None,
    as_json: Json = False,
    report: Report = True,
) -> None:
    """Run a study, or what is left of it, and write its report."""
    with one_line_errors():
        _go(
            _study().from_toml(spec, out, quick=quick), _Who(engine, workers, address, lanes), as_json, report
        )


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="the study's folder")],
    *,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    lanes: Lanes = None,
    as_json: Json = False,
    report: Report = True,
) -> None:
    """Go on with a study that was interrupted."""
    with one_line_errors():
        _go(_study().open(folder), _Who(engine, workers, address, lanes), as_json, report)


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="a published study")] = "paper",
    *,
    out: Out = None,
    quick: Quick = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    lanes: Lanes = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: run its studies and write one report.

    What needs a GPU is run at its quick scale where there is none, and its published result is shown beside.
    """
    from heavytail.report.report import beside
    from heavytail.studies.published import left_out, to_reproduce

    with one_line_errors():
        folder, command = (
            out or Path("results") / (f"{study}-quick" if quick else study),
            shlex.join(["heavytail", *sys.argv[1:]]),
        )
        fresh = to_reproduce(study, folder, quick=quick)
        for name in left_out(study):
            typer.echo(
                (
                    f"{name} is not run here, only its published result is shown; to run it: pip install"
                    " 'heavytail[deep]'"
                ),
                err=True,
            )
        for each in fresh:
            _run(each, _Who(engine, workers, address, lanes), as_json, command)
        _finish(fresh[0], as_json, fresh[0].report(None, command, list(beside(study, fresh))))


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(help="the study's folder, or a packed study")],
    *,
    as_json: Json = False,
) -> None:
    """Say how far a study is, and what failed."""
    with one_line_errors():
        study = _study().open(folder)
        rows = [row for stage in study.stages() for row in _progress(stage)]
        errors = (
            []
            if any(row["done"] < row["parts"] for row in rows)
            else study.failures()[["env_key", "agent_key", "replicate", "error"]].to_dict("records")
        )
    if as_json:
        typer.echo(json.dumps({"stages": rows, "failures": errors}, indent=1))
        return
    print_table(study.spec.title or study.spec.name, rows)
    for error in errors:
        typer.echo(
            f"failed: {error['agent_key']} on {error['env_key']}, seed {error['replicate']}: {error['error']}"
        )
    if any(row["done"] < row["parts"] for row in rows):
        typer.echo(f"go on with: heavytail resume {folder}")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="the study's folder, or a packed study")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="the page; FOLDER/report.html, or results/NAME/report.html, if left out"
        ),
    ] = None,
) -> None:
    """Write the report of a study that is done."""
    with one_line_errors():
        typer.echo(str(_report(_study().open(folder), out)))


def _study() -> "type[Study]":
    from heavytail.studies.study import Study  # here, because most commands do without

    return Study


def _progress(stage: "Stage") -> list[dict[str, Any]]:
    """A row per agent and environment."""
    missing, parts = {part.id for part in stage.missing}, dict[tuple[str, str], set[str]]()
    for cell in stage.cells:
        parts.setdefault((cell.env, cell.agent), set()).update(part.id for part in cell.parts)
    return [
        {"phase": stage.phase, "env": env, "agent": agent, "parts": len(ids), "done": len(ids - missing)}
        for (env, agent), ids in parts.items()
    ]


class _Who(NamedTuple):
    """Who does the work."""

    engine: str
    workers: int | None
    address: str | None
    lanes: int | None


def _go(study: "Study", who: _Who, as_json: bool, report: bool) -> None:
    _run(study, who, as_json, f"heavytail resume {study.store.folder}")
    _finish(study, as_json, _report(study, None) if report else None)


def _run(study: "Study", who: _Who, as_json: bool, again: str) -> None:
    """Do what is left of a study; `again` goes on with it after an interruption."""
    from heavytail.studies.progress import choose_listener

    try:
        with choose_listener(study.spec, as_json=as_json) as listener:
            study.run(
                who.engine, workers=who.workers, address=who.address, lanes=who.lanes, listener=listener
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is done is kept. Go on with: {again}", err=True)
        raise typer.Exit(130) from None


def _finish(study: "Study", as_json: bool, report: Path | None) -> None:
    """Say what failed, and where the results are."""
    failed, folder = len(study.failures()), study.store.folder
    if failed:
        typer.echo(f"{failed} runs failed; see: heavytail status {folder}", err=True)
    said = {
        "event": "finished",
        "folder": str(folder),
        "report": None if report is None else str(report),
        "failed": failed,
    }
    typer.echo(json.dumps(said) if as_json else str(report or folder))


def _report(study: "Study", out: Path | None) -> Path:
    return study.report(out, shlex.join(["heavytail", *sys.argv[1:]]))
