"""Dependencies and other rooms are used by their public names only, and nothing of theirs is replaced."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
FILES = sorted(SRC.rglob("*.py"))
OURS = ("heavytail", "heavytail_command")
# What numba documents for those who extend it; its compiler, dispatcher and caches are its own.
NUMBA = {"numba.core.cgutils", "numba.core.errors", "numba.core.types"}
# Documented, though they begin with an underscore or are replaced: numba's says so of the last two.
DOCUMENTED = {"os._exit", "warnings.showwarning", "numba.config", "_getvalue"}
# Replaced although it is not documented: numba-cuda has no option against fused multiply-add, with which
# lanes would not give the bits of the CPU.
EXCEPTIONS = {"numba.cuda.cudadrv.nvvm.compile_ir"}


def private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name that each import binds, and the module or name of a module that it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.asname or a.name.partition(".")[0], a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (("", str(a.value)) for a in node.args if isinstance(a, ast.Constant))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            called = ast.Module([ast.Expr(node.value)], [])
            yield from ((ast.unparse(target), path) for _, path in imported(called))


def mistakes(source: str) -> list[str]:
    """List the uses of what a dependency did not publish, and what is replaced in one."""
    tree = ast.parse(source)
    names = [(name, path) for name, path in imported(tree) if path.partition(".")[0] not in OURS]
    found = [path for _, path in names if any(map(private, path.split(".")))]
    found += [path for _, path in names if path.startswith("numba.core.") and not published(path)]
    foreign = dict(names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and root(node) in foreign:
            replaced = isinstance(node.ctx, (ast.Store, ast.Del))
            if (private(node.attr) or replaced) and not documented(node, foreign):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"setattr", "delattr"}:
            found += [ast.unparse(node)] if root(node.args[0]) in foreign else []
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            ours = ast.unparse(node) == "sys.modules['__main__']"
            found += [ast.unparse(node)] if ast.unparse(node.value) == "sys.modules" and not ours else []
    exceptions = re.findall(r".*SLF001.*", source)  # from ruff's rule about private attributes of objects
    return found + [line for line in exceptions if not any(f".{name}" in line for name in DOCUMENTED)]


def private_of_other_rooms(source: str, room: str) -> list[str]:
    """List the modules and names with an underscore that are imported from another room of heavytail."""
    paths = [path for _, path in imported(ast.parse(source)) if path.startswith("heavytail.")]
    others = [path.split(".")[1:] for path in paths if path.split(".")[1] != room]
    return [".".join(names) for names in others if any(map(private, names[1:]))]


def published(path: str) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in NUMBA)


def documented(node: ast.Attribute, foreign: dict[str, str]) -> bool:
    full = ast.unparse(node).replace(root(node), foreign[root(node)], 1)
    return any(full == name or full.startswith(f"{name}.") for name in DOCUMENTED | EXCEPTIONS)


def root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def test_dependencies_are_used_by_their_public_names() -> None:
    found = {str(file.relative_to(SRC)): mistakes(file.read_text()) for file in FILES}
    assert {file: names for file, names in found.items() if names} == {}


def test_rooms_use_each_other_by_public_names() -> None:
    rooms = {str(file): file.relative_to(SRC).with_suffix("").parts[1:] for file in FILES}
    found = {
        file: private_of_other_rooms(Path(file).read_text(), room[0]) for file, room in rooms.items() if room
    }
    assert {file: names for file, names in found.items() if names} == {}
    assert private_of_other_rooms("from heavytail.estimators._histogram import BINS", "agents")
    assert private_of_other_rooms("from heavytail.laws.law import _number", "agents")


@pytest.mark.parametrize(
    "source",
    [
        "from numba.core.registry import cpu_target",
        "from numba.core import caching",
        "import numba.core.compiler",
        "import matplotlib._api",
        "from jax._src import core",
        "from typing import _alias",
        "import subprocess\nsubprocess._args_from_interpreter_flags()",
        "from importlib import import_module\nimport_module('numba.core.codegen')",
        "import numpy as np\nsetattr(np, 'in1d', np.isin)",
        "import numpy as np\nnp.in1d = np.isin",
        "import sys\nsys.modules['scipy.linalg'] = None",
        "from importlib import import_module\nnp = import_module('numpy')\nnp.in1d = 1",
        "x = y._cache  # noqa: SLF001 - there is no other way",
    ],
)
def test_it_would_be_found(source: str) -> None:
    assert mistakes(source)


@pytest.mark.parametrize(
    "source",
    [
        "from numba.core import cgutils, types\nfrom numba.extending import intrinsic",
        "import numba\nnumba.config.CACHE_DIR = 'folder'",
        "from heavytail.estimators.sketch_tails import tail",
        "import heavytail.errors as e\ne.x = 1",
        "from importlib import import_module\nimport_module('numba.cuda')",
    ],
)
def test_what_is_public_is_allowed(source: str) -> None:
    assert not mistakes(source)
