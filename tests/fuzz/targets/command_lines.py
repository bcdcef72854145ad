"""Command lines: commands with words, numbers and files that they do not expect.

A command ends with status 0, or with status 2 and a message; a mistake that heavytail finds is one line.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from typer.main import get_group
from typer.testing import CliRunner

import heavytail as ht
from fuzz.mutation import FLOATS, INTS, TEXTS, Generator
from heavytail.cli import app
from heavytail.errors import InputError
from heavytail.studies import Study

SHARE = 0.5
# not those that take long by themselves
COMMANDS = ("run", "resume", "status", "report", "pack", "show", "bounds", "list", "reproduce")
SPEC = 'name = "tiny"\nepisodes = 10\nseeds = 2\n[envs.two_state]\nsteps = 50\n[agents.random]\n'
LAWS = ("student_t", "pareto", "alpha_stable", "log_normal", "normal", "bernoulli", "constant")


def start(folder: Path) -> Callable[[Generator], None]:
    """Make a study, and a spec of one, and use each command once."""
    os.chdir(folder)
    Path("spec.toml").write_text(SPEC)
    Path("garbage").write_bytes(bytes(range(256)))
    study = Study.from_toml("spec.toml", "study")
    study.run("inline")
    study.pack("packed.parquet")
    for words in (["list"], ["run", "spec.toml", "--dry-run"], ["report", "packed.parquet"]):
        check(words)
    check(["resume", "study", "--engine", "inline"])
    for env in ht.registered("env"):  # the first drawing of a law takes long
        for command in ("show", "bounds"):  # some have no picture or bound
            with suppress(InputError):
                check([command, env.name])
    options = {name: _options(name) for name in COMMANDS}
    return partial(try_one, options)


def _options(command: str) -> list[str]:
    names = [name for parameter in get_group(app).commands[command].params for name in parameter.opts]
    return [name for name in names if name.startswith("-")]


def try_one(options: dict[str, list[str]], rng: Generator) -> None:
    """Run a command line that was put together at random."""
    command = pick(rng, COMMANDS)
    words = [command, *arguments(command, rng)]
    for _ in range(int(rng.integers(3))):
        words.append(pick(rng, options[command]))
        if rng.random() < 0.7:
            words.append(value(rng))
    if command == "run":
        words.append("--dry-run")
    if command in ("resume", "reproduce"):
        words += ["--engine", pick(rng, ("inline", "inline", "nowhere"))]
    if rng.random() < 0.1:
        words.insert(int(rng.integers(len(words))), pick(rng, TEXTS))
    if "reproduce" in words and "paper" in words:
        return  # that takes minutes
    check(words)


def arguments(command: str, rng: Generator) -> list[str]:
    """Choose what stands behind a command."""
    if command in ("show", "bounds"):
        env = pick(rng, ht.registered("env")) if rng.random() < 0.9 else None
        if env is None:
            return [value(rng)]
        names = [*env.parameters, "law", "nothing"]
        return [env.name, *(f"{pick(rng, names)}={value(rng)}" for _ in range(int(rng.integers(3))))]
    if command in ("list", "reproduce"):
        return [pick(rng, ("agents", "laws", "estimators", *TEXTS))]
    return [pick(rng, ("spec.toml", "study", "packed.parquet", "garbage", "nowhere", ".", *TEXTS))]


def value(rng: Generator) -> str:
    """Choose a word: a small number, an extreme one, a law, or no value at all."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: int(rng.integers(1, 12)),
        lambda: round(float(rng.random()), 3),
        lambda: pick(rng, [n for n in INTS if abs(n) < 300 or abs(n) > 2**40]),
        lambda: pick(rng, FLOATS),
        lambda: pick(rng, (*TEXTS, *LAWS)),
        lambda: pick(rng, ("[1,2]", "{}", "null", "true", "[[[[", '"', "1e-6", "1e-300", "1" * 5000)),
    )
    return str(pick(rng, kinds)())


def pick(rng: Generator, choices: Any) -> Any:
    """Choose one of these."""
    return choices[int(rng.integers(len(choices)))]


def check(words: list[str]) -> None:
    """Run a command, and check how it ends."""
    if any("\x00" in word for word in words):
        return  # no shell can say it
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise RuntimeError(f"heavytail {words}") from done.exception
    assert done.exit_code in (0, 2), (words, done.exit_code, done.output)
    own = [line for line in done.stderr.splitlines() if line.startswith("heavytail: ")]
    assert done.exit_code == 0 or own, (words, done.output)
    if done.exit_code:
        raise InputError(own[0])
