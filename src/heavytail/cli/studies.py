"""The commands about studies: run, resume, status, report, reproduce."""

import json
import shlex
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heavytail.cli.app import app, one_line_errors, print_table

if TYPE_CHECKING:
    from heavytail.studies.study import Stage, Study


class EngineName(StrEnum):
    """Who does the work."""

    local = "local"
    ray = "ray"
    inline = "inline"


Out = Annotated[Path | None, typer.Option("--out", "-o", help="the study's folder; results/NAME if left out")]
Quick = Annotated[bool, typer.Option("--quick", help="fewer episodes and seeds, as the spec's table [quick] says")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="processes on this machine, a Ray cluster, or this process")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="parts at a time; all cores if left out")]
Address = Annotated[str | None, typer.Option("--address", help="of a running Ray cluster; one is started here if left out")]
Json = Annotated[bool, typer.Option("--json", help="one JSON object per line")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="write the report when all is done")]


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="a study: spec.toml")],
    *,
    out: Out = None,
    quick: Quick = False,
    engine: EngineOption = EngineName.local,
    workers: Workers = None,
    address: Address = None,
    as_json: Json = False,
    report: Report = True,
) -> None:
    """Run a study, or what is left of it, and write its report."""
    with one_line_errors():
        _go(_study().from_toml(spec, out, quick=quick), engine, workers, address, as_json, report)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="the study's folder")],
    *,
    engine: EngineOption = EngineName.local,
    workers: Workers = None,
    address: Address = None,
    as_json: Json = False,
    report: Report = True,
) -> None:
    """Go on with a study that was interrupted."""
    with one_line_errors():
        _go(_study().open(folder), engine, workers, address, as_json, report)


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="a published study")] = "paper",
    *,
    out: Out = None,
    quick: Quick = False,
    engine: EngineOption = EngineName.local,
    workers: Workers = None,
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: run its study and write the report."""
    from heavytail.studies.published import published

    with one_line_errors():
        folder = out or Path("results") / (f"{study}-quick" if quick else study)
        _go(_study().from_toml(published(study), folder, quick=quick), engine, workers, address, as_json, report=True)


@app.command()
def status(folder: Annotated[Path, typer.Argument(help="the study's folder")], *, as_json: Json = False) -> None:
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
        typer.echo(f"failed: {error['agent_key']} on {error['env_key']}, seed {error['replicate']}: {error['error']}")
    if any(row["done"] < row["parts"] for row in rows):
        typer.echo(f"go on with: heavytail resume {folder}")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="the study's folder")],
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="where to write it; FOLDER/report.html if left out")] = None,
) -> None:
    """Write the report of a study that is done."""
    with one_line_errors():
        typer.echo(str(_report(_study().open(folder), out)))


def _study() -> "type[Study]":
    from heavytail.studies.study import Study  # here, because most commands do without

    return Study


def _progress(stage: "Stage") -> list[dict[str, Any]]:
    """A row per agent and environment."""
    missing = {part.id for part in stage.missing}
    total, done = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for cell in stage.cells:
        for part in cell.parts:
            total[cell.env, cell.agent] += 1
            done[cell.env, cell.agent] += part.id not in missing
    return [
        {"phase": stage.phase, "env": env, "agent": agent, "parts": total[env, agent], "done": done[env, agent]} for env, agent in total
    ]


def _go(study: "Study", engine: str, workers: int | None, address: str | None, as_json: bool, report: bool) -> None:
    from heavytail.studies.watching import watching

    try:
        with watching(study.spec, as_json=as_json) as watcher:
            study.run(engine, workers=workers, address=address, watcher=watcher)
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is done is kept. Go on with: heavytail resume {study.store.folder}", err=True)
        raise typer.Exit(130) from None
    failed = len(study.failures())
    if failed:
        typer.echo(f"{failed} runs failed; see: heavytail status {study.store.folder}", err=True)
    where = _report(study, None) if report else study.store.folder
    typer.echo(
        json.dumps({"event": "finished", "folder": str(study.store.folder), "report": str(where) if report else None, "failed": failed})
        if as_json
        else str(where)
    )


def _report(study: "Study", out: Path | None) -> Path:
    return study.report(out, shlex.join(["heavytail", *sys.argv[1:]]))
