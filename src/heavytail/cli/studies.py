"""The commands about studies: run, resume, reproduce, status, report, pack, export."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import heavytail as ht
from heavytail.cli.app import app, print_json, print_table, stop_status
from heavytail.errors import install_extra, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heavytail.report.report import CompanionStudy
    from heavytail.studies.store import Stage
    from heavytail.studies.study import Study

ENGINES = "Where to compute: local (processes), ray (a cluster), cuda (a GPU) or inline (this process)."

Folder = Annotated[Path, typer.Argument(help="The study's folder.")]
Finished = Annotated[Path, typer.Argument(help="The study's folder, or its packed file.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="The study's folder; by default results/NAME.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer episodes and seeds: the spec's table `quick`.")]
Engine = Annotated[str, typer.Option("--engine", help=ENGINES)]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Parts at a time; by default one per core.")
]
Address = Annotated[
    str | None, typer.Option("--address", help="Address of a running Ray cluster; by default one is started.")
]
Lanes = Annotated[
    int | None,
    typer.Option("--lanes", min=1, help="Runs at a time on a GPU; by default 65,536, or as many as fit."),
]
Reuse = Annotated[
    list[Path] | None,
    typer.Option("--reuse", help="Another study, whose parts are used where they fit; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write the report at the end.")]


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="The spec of a study, a .toml file.")],
    *,
    out: Out = None,
    quick: Quick = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    lanes: Lanes = None,
    reuse: Reuse = None,
    as_json: Json = False,
    report: Report = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the spec and print what it would take; compute nothing.")
    ] = False,
) -> None:
    """Run a study, or what is left of it, and write its report."""
    study = ht.Study.from_toml(spec, out, quick=quick)
    if dry_run:
        sizes = study.check()
        if as_json:
            print_json([size._asdict() for size in sizes])
        else:
            typer.echo("\n".join(map(str, sizes)))
        return
    computing = Computing(engine, workers, address, lanes, tuple(reuse or ()))
    _run_and_finish(study, computing, as_json, report)


@app.command()
def resume(
    folder: Folder,
    *,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    lanes: Lanes = None,
    as_json: Json = False,
    report: Report = True,
) -> None:
    """Continue an interrupted study."""
    computing = Computing(engine, workers, address, lanes)
    _run_and_finish(ht.Study.open(folder), computing, as_json, report)


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="A published study.")] = "paper",
    *,
    out: Out = None,
    quick: Quick = False,
    engine: Engine = "local",
    workers: Workers = None,
    address: Address = None,
    lanes: Lanes = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: run its studies and write one report.

    Without a GPU, studies that need one run at their quick scale, beside their published results.
    """
    from heavytail.report.report import find_companions  # here, because `--help` does without
    from heavytail.studies.published import left_out, to_reproduce

    folder = out or Path("results") / (f"{study}-quick" if quick else study)
    computing = Computing(engine, workers, address, lanes)
    fresh = to_reproduce(study, folder, quick=quick)
    for name in left_out(study):
        message = f"{name} is not run here, only its published result is shown; to run it"
        typer.echo(f"{message} {install_extra('deep')}", err=True)
    for member in fresh:
        _run(member, computing, as_json, _command())
    report = _report(fresh[0], None, as_json, list(find_companions(study, fresh)))
    _finish(fresh[0], as_json, report)


@app.command()
def status(folder: Finished, *, as_json: Json = False) -> None:
    """Print how much of a study is done, and what failed."""
    study = ht.Study.open(folder)
    rows = [row for stage in study.stages() for row in _progress_rows(stage)]
    unfinished = any(row["done"] < row["parts"] for row in rows)
    columns = ["env_key", "agent_key", "replicate", "error"]
    failures = [] if unfinished else study.failures()[columns].to_dict("records")
    if as_json:
        print_json({"stages": rows, "failures": failures})
        return
    print_table(study.spec.title or study.spec.name, rows)
    for failure in failures:
        where = f"{failure['agent_key']} on {failure['env_key']}, seed {failure['replicate']}"
        typer.echo(printable(f"failed: {where}: {failure['error']}"))
    if unfinished:
        typer.echo(study.store.advice())


@app.command()
def report(
    folder: Finished,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The HTML file; FOLDER/report.html, or results/NAME/report.html of a packed study.",
        ),
    ] = None,
) -> None:
    """Write the report of a finished study."""
    typer.echo(str(_report(ht.Study.open(folder), out, as_json=False)))


@app.command()
def pack(
    folder: Finished,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; by default FOLDER.parquet.")
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", help="A spec.toml whose words, claims and statistics replace the study's."),
    ] = None,
) -> None:
    """Pack a finished study into one Parquet file, which report and status read like the folder."""
    from heavytail.studies.specs.reading import read_spec  # here, because `--help` does without

    study = ht.Study.open(folder, None if spec is None else read_spec(spec))
    typer.echo(str(study.pack(out)))


@app.command()
def export(
    folder: Finished,
    *,
    form: Annotated[str, typer.Option("--format", help="csv, or latex for a paper.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder to write to; by default `tables` beside the report."),
    ] = None,
) -> None:
    """Write the tables of a finished study as CSV or LaTeX: results, curves, claims, tests, tuning."""
    from heavytail.report.export import export_tables  # here, because `--help` does without

    study = ht.Study.open(folder)
    target = out or study.store.report_path(study.spec.name).with_name("tables")
    for path in export_tables(study, target, form):
        typer.echo(str(path))


def _command() -> str:
    """Return the command as it was typed."""
    return shlex.join(["heavytail", *sys.argv[1:]])


def _progress_rows(stage: "Stage") -> list[dict[str, Any]]:
    """Return one row per agent and environment."""
    missing, parts = {part.id for part in stage.missing}, dict[tuple[str, str], set[str]]()
    for cell in stage.cells:
        parts.setdefault((cell.env, cell.agent), set()).update(part.id for part in cell.parts)
    return [
        {"phase": stage.phase, "env": env, "agent": agent, "parts": len(ids), "done": len(ids - missing)}
        for (env, agent), ids in parts.items()
    ]


class Computing(NamedTuple):
    """The options that say where to compute a study."""

    engine: str
    workers: int | None
    address: str | None
    lanes: int | None
    reuse: tuple[Path, ...] = ()  # other studies


def _run_and_finish(study: "Study", computing: Computing, as_json: bool, report: bool) -> None:
    # Plugins that lie beside the spec are found only from there.
    again = _command() if study.spec.plugins else f"heavytail resume {study.store.folder}"
    _run(study, computing, as_json, again)
    _finish(study, as_json, _report(study, None, as_json) if report else None)


def _run(study: "Study", computing: Computing, as_json: bool, again: str) -> None:
    """Run what is left of a study; `again` is the command that continues it after an interruption."""
    from heavytail.studies.progress import choose_listener  # here, for start-up

    try:
        with choose_listener(as_json=as_json) as listener:
            study.run(**computing._asdict(), listener=listener)
    except KeyboardInterrupt as stop:
        kept = (
            f"what is done is kept. Continue with: {again}" if study.store.exists() else "nothing was begun"
        )
        typer.echo(f"stopped; {kept}", err=True)
        raise typer.Exit(stop_status(stop)) from None


def _finish(study: "Study", as_json: bool, report: Path | None) -> None:
    """Print what failed, and where the results are; the status is 1 if nothing worked."""
    failed, folder = len(study.failures()), study.store.folder
    if failed:
        typer.echo(f"{failed} runs failed; see: heavytail status {folder}", err=True)
    path = None if report is None else str(report)
    event = {"event": "finished", "folder": str(folder), "report": path, "failed": failed}
    typer.echo(json.dumps(event) if as_json else path or str(folder))
    if failed and _all_failed(study):
        raise typer.Exit(1)


def _all_failed(study: "Study") -> bool:
    """Return whether every run of the evaluation failed, or of tuning, after which there is no evaluation."""
    curves = [study.curves(stage.phase) for stage in study.stages() if stage.phase != "map"]
    return bool(curves[-1]["error"].notna().all())


def _report(study: "Study", out: Path | None, as_json: bool, beside: "Sequence[CompanionStudy]" = ()) -> Path:
    """Write the report, and print its findings."""
    from heavytail.report.findings import tell_findings  # here, for start-up
    from heavytail.report.report import collect_studies, write_studies

    studies = collect_studies(study, _command(), beside)
    path = write_studies(studies, out or study.store.report_path(study.spec.name))
    if not as_json:
        for sentence in tell_findings(studies[0].data):
            typer.echo(printable(sentence), err=True)
    return path
