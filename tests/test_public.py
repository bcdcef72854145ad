import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import heavytail as ht
from heavytail.registry import own_builders
from support.processes import python
from support.registry_copy import copy_registry

ROOT = Path(__file__).parent.parent


def test_all_is_complete_and_importable() -> None:
    assert sorted(ht.__all__, key=str.casefold) == sorted(set(ht.__all__), key=str.casefold)
    assert all(getattr(ht, name) is not None for name in ht.__all__)
    assert set(dir(ht)) == {*ht.__all__, "__version__"}
    with pytest.raises(AttributeError, match="heavytail has no 'nothing'") as caught:
        ht.nothing  # noqa: B018 - the look-up is the test
    assert (caught.value.name, caught.value.obj) == ("nothing", ht)  # of which Python says: did you mean


def test_there_are_few_public_names() -> None:
    rooms = [value for name in ht.__all__ if isinstance(value := getattr(ht, name), ModuleType)]
    assert len(ht.__all__) + sum(len(room.__all__) for room in rooms) < 110


@pytest.mark.parametrize("name", ht.__all__)
def test_every_public_name_is_documented_and_its_functions_typed(name: str) -> None:
    value = getattr(ht, name)
    assert inspect.getdoc(value)
    if inspect.isfunction(value):
        assert all(p.annotation is not p.empty for p in inspect.signature(value).parameters.values())


def test_importing_is_light(tmp_path: Path) -> None:
    """Start-up is part of speed: nothing heavy is imported before it is used, and JAX never.

    (Gymnasium is, to know the ids.)
    """
    script = (
        "import sys, heavytail; print([m for m in ('numba', 'scipy', 'jax', 'rich', 'pandas',"
        " 'matplotlib') if m in sys.modules])"
    )
    assert python(script, folder=tmp_path) == "[]"
    script = """
    import sys, heavytail as ht
    ht.make_agent(ht.make_mdp("six_arms"), "q_learning")
    print([m for m in ('jax', 'rich', 'pandas', 'pydantic', 'matplotlib') if m in sys.modules])
    """
    assert python(script, folder=tmp_path) == "[]"


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == ht.__version__
    assert f"version: {ht.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {ht.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_laws_and_estimators_are_imported_by_name_as_they_are_registered() -> None:
    laws, estimators = own_builders("law"), own_builders("estimator")
    assert set(ht.laws.__all__) - {"Law"} <= set(laws)
    assert all(getattr(ht.laws, name) is builder for name, builder in laws.items())
    assert set(ht.estimators.__all__) - {"Estimator", "build_estimator"} <= set(estimators)
    assert all(getattr(ht.estimators, name).__wrapped__ is estimators[name] for name in estimators)


def test_one_file_imports_njit() -> None:
    users = [
        p.name for p in (ROOT / "src").rglob("*.py") if re.search(r"import .*njit|numba\.njit", p.read_text())
    ]
    assert users == ["compiling.py"]


def test_every_module_says_what_it_is() -> None:
    for module in pkgutil.walk_packages(ht.__path__, "heavytail."):
        assert importlib.import_module(module.name).__doc__


PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("deep", "heavy_psrl", "logs", "production", "tails")),
    *(f"docs/{name}.md" for name in ("need", "own_agent", "own_environment", "results", "which_agent")),
]


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copy_registry(monkeypatch)  # a page may register things of its own
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert snippets
    scope: dict[str, object] = {"__name__": "a_page"}
    for snippet in snippets:
        if ">>>" in snippet:
            test = doctest.DocTestParser().get_doctest(snippet, scope, page, page, 0)
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
        else:
            exec(snippet, scope)  # noqa: S102 - the snippet is ours


def test_the_example_agent_is_thirty_lines_and_learns() -> None:
    import my_agent

    learner = ht.make_agent(ht.make_mdp("six_arms"), "greedy", exploration=0.0, seed=0)
    learner.learn(episodes=2000)
    assert learner.predict(1) == 0  # staying pays there, and leaving does not
    agent = inspect.getsource(my_agent).partition("# %%")[0]
    texts = r'"""(.|\n)*?"""|#.*|^(from|import) .*'
    lines = re.sub(texts, "", agent, flags=re.MULTILINE).splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 35


def test_the_example_agent_is_compiled_once(tmp_path: Path) -> None:
    script = """
    import heavytail as ht, my_agent
    from heavytail.training import fused
    from heavytail.training.reward_batches import new_reward_batch
    from heavytail.kernels.compiling import entry
    learner = ht.make_agent(ht.make_mdp("six_arms"), "greedy")
    learner.learn(10)
    agent, mdp, streams = learner.agent, learner.mdp, learner.streams
    recorded = fused.new_checkpoints(learner.curve.at, agent)
    chunk = entry(fused.run_chunk, agent, mdp, streams, new_reward_batch(mdp), learner.run_state, recorded)
    stats = chunk.dispatcher.stats
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
    """
    first, second = (
        python(script, folder=ROOT / "examples", HEAVYTAIL_CACHE_DIR=str(tmp_path)) for _ in range(2)
    )
    assert (first, second) == ("0 1", "1 0")
