"""Pages written from the code: of everything that is registered, of every public name, of all commands.

A page of the catalogue says what a thing is and how it is made, shows it if it is an environment, lists its
parameters in words, and ends with the docstring of its module, where the equations are.
"""

import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from typer.main import get_command

import heavytail as ht
from docstring_markup import escape, to_rst
from heavytail.cli import app
from heavytail.description import NOT_GIVEN, Description, ParameterDescription
from heavytail.files import save_figure
from heavytail.mdp.diagram import MAX_STATES, draw_mdp
from heavytail.registry import Kind, Registered

KINDS: dict[Kind, tuple[str, str]] = {
    "agent": (
        "Agents",
        "What learns. Made by `ht.make_agent` for an environment, by `ht.make_online` for a loop.",
    ),
    "estimator": ("Estimators", "How agents estimate the mean of rewards that may have no variance."),
    "law": ("Reward laws", "What rewards are drawn from. Each knows its mean, its moments and its tail."),
    "env": ("Environments", "MDPs whose best policy is known exactly."),
}
SMALLER = {"size": 4}  # of environments that are too large to draw


def heading(text: str, line: str = "=") -> str:
    """Underline a title.

    >>> print(heading("Laws"))
    Laws
    ====
    """
    return f"{text}\n{line * len(text)}"


def table(rows: Iterator[tuple[str, str]]) -> str:
    """Write rows of a name and what it is."""
    lines = "\n".join(f"   * - {name}\n     - {text}" for name, text in rows)
    return f".. list-table::\n   :widths: auto\n\n{lines}"


def toctree(pages: list[str]) -> str:
    """List pages for the sidebar only."""
    lines = "\n".join(f"   {page}" for page in pages)
    return f".. toctree::\n   :hidden:\n\n{lines}"


def first_sentence(doc: str) -> str:
    """Return the first line of a docstring, which is one sentence."""
    return escape(doc.strip().partition("\n")[0])


def write_catalogue(folder: Path) -> None:
    """Write a page for each agent, estimator, law and environment, and a list of each kind."""
    for kind, (title, about) in KINDS.items():
        entries = [
            entry for entry in ht.registered(kind) if entry.builder.__module__.startswith("heavytail.")
        ]
        rows = ((f":doc:`{entry.name}`", first_sentence(entry.doc)) for entry in entries)
        pages = toctree([entry.name for entry in entries])
        write(folder / kind / "index.rst", heading(title), escape(about), table(rows), pages)
        for entry in entries:
            write(folder / kind / f"{entry.name}.rst", *catalogue_page(entry, folder / kind))


def catalogue_page(entry: Registered, folder: Path) -> Iterator[str]:
    """Write about one registered thing, section by section."""
    found = ht.describe(entry.name, entry.kind)  # type: ignore[arg-type] # of the kinds above
    builder = inspect.unwrap(entry.builder)
    first, _, more = found.about.partition("\n")
    yield heading(entry.name)
    yield escape(first)
    if entry.kind == "env":
        yield picture(entry, folder)
    yield to_rst(more)
    yield ".. code-block:: python\n\n" + textwrap.indent(f"import heavytail as ht\n\n{call(entry)}", "   ")
    if found.parameters:
        yield heading("Parameters", "-")
        yield parameter_list(found)
    yield heading("How it works", "-")
    yield to_rst(inspect.getdoc(inspect.getmodule(builder)) or "")
    if entry.kind == "law":
        yield to_rst(inspect.getdoc(get_type_hints(builder)["return"]) or "")
    yield f"Source: ``src/{builder.__module__.replace('.', '/')}.py``."


def call(entry: Registered) -> str:
    """Show how a thing is made, with examples for what must be given."""
    required = [
        p.name for p in entry.parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    examples = {name: json.dumps(value) for name, value in entry.example.items()}
    handed_on = [name for name in examples if name not in entry.parameters]
    given = [
        f"{name}={examples.get(name, '...')}" for name in (*required, *handed_on) if name not in NOT_GIVEN
    ]
    name = f'"{entry.name}"'
    match entry.kind:
        case "agent":
            mdp = 'mdp = ht.make_mdp("six_arms")\n'
            return f"{mdp}learner = ht.make_agent({', '.join(['mdp', name, *given])})"
        case "env":
            return f"mdp = ht.make_mdp({', '.join([name, *given])})"
    return f"{entry.kind} = ht.{entry.kind}s.{entry.name}({', '.join(given)})"


def picture(entry: Registered, folder: Path) -> str:
    """Draw an environment: of one that changes its first MDP, of a large one a smaller."""
    mdp, title = entry.builder(**entry.example), entry.name
    if isinstance(mdp, ht.ChangingMDP):
        mdp, title = mdp.mdps[0], f"{entry.name}, at first"
    if mdp.n_states > MAX_STATES:
        sizes = {name: value for name, value in SMALLER.items() if name in entry.parameters}
        mdp, title = entry.builder(**{**entry.example, **sizes}), f"{entry.name} {sizes}"
    folder.mkdir(parents=True, exist_ok=True)
    save_figure(draw_mdp(mdp), folder / f"{entry.name}.svg")
    return f".. figure:: {entry.name}.svg\n   :alt: The transitions and reward laws of {title}"


def parameter_list(found: Description) -> str:
    """List parameters: which values each may have, its default, and what it means."""

    def item(each: ParameterDescription) -> str:
        default = "; may be left out" if each.default == "None" else f"; by default ``{each.default}``"
        default = default if each.default else ""
        return f"``{each.name}`` : {escape(each.type)}{default}\n    {escape(each.text)}"

    return "\n\n".join(map(item, found.parameters))


def write_api(folder: Path) -> None:
    """Write a page for each public name, and a list of them."""
    names = sorted(ht.__all__, key=str.casefold)
    modules = [name for name in names if isinstance(getattr(ht, name), ModuleType)]
    parts = []
    for title, chosen in (("Names", [name for name in names if name not in modules]), ("Modules", modules)):
        rows = (
            (f":doc:`{name}`", first_sentence(inspect.getdoc(getattr(ht, name)) or "")) for name in chosen
        )
        parts += [heading(title, "-"), table(rows)]
    write(folder / "index.rst", heading("API"), "``import heavytail as ht``", *parts, toctree(names))
    for name in names:
        write(folder / f"{name}.rst", *api_page(name))


def api_page(name: str) -> Iterator[str]:
    """Let autodoc describe a public name; of a module all of its public names."""
    value = getattr(ht, name)
    yield heading(name)
    if isinstance(value, ModuleType):
        yield f".. automodule:: heavytail.{name}"
        yield from (autodoc(f"heavytail.{name}.{member}", getattr(value, member)) for member in value.__all__)
    else:
        yield autodoc(f"heavytail.{name}", value)


def autodoc(path: str, value: Any) -> str:
    """Name the directive for a value."""
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, Exception) else "class"
        return f".. auto{kind}:: {path}\n   :members:"
    return f".. auto{'function' if inspect.isroutine(value) else 'data'}:: {path}"


def commands_page() -> Iterator[str]:
    """Say of each command what its help says."""
    group: Any = get_command(app)
    yield heading("Commands")
    yield "``heavytail COMMAND --help`` says the same in a terminal."
    for name in group.list_commands(None):
        command = group.commands[name]
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        usage = " ".join(["heavytail", name, *(shown_argument(p) for p in arguments), "[OPTIONS]"])
        yield heading(name, "-")
        yield f".. code-block:: console\n\n   {usage}"
        yield to_rst(inspect.cleandoc(command.help))
        yield "\n\n".join(f"``{option_names(p)}``\n    {escape(p.help or '')}" for p in command.params)


def shown_argument(parameter: Any) -> str:
    """Show an argument as in a line of usage."""
    name = f"{parameter.name.upper()}{'...' if parameter.nargs == -1 else ''}"
    return name if parameter.required else f"[{name}]"


def option_names(parameter: Any) -> str:
    """Show the names of an option, or an argument."""
    if parameter.param_type_name == "argument":
        return shown_argument(parameter)
    return ", ".join([*parameter.opts, *parameter.secondary_opts])


def write(path: Path, *parts: str) -> None:
    """Write a page unless it is there already, so that Sphinx reads again what changed."""
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_pages(sphinx: Any) -> None:
    """Write all of them into ``generated``."""
    folder = Path(sphinx.srcdir) / "generated"
    write_catalogue(folder)
    write_api(folder / "api")
    write(folder / "commands.rst", *commands_page())


def setup(sphinx: Any) -> dict[str, bool]:
    """Write the pages before Sphinx reads any, and before the gallery registers agents of its own."""
    sphinx.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
