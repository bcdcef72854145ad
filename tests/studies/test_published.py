"""The studies that come with heavytail, and the results that come with some of them."""

from pathlib import Path
from typing import Any

import pytest

from heavytail.report.report import find_companions
from heavytail.studies import published as shelf
from heavytail.studies.packed import RESULTS
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.published import published, published_result, to_reproduce
from heavytail.studies.specs.checks import result_relevant
from heavytail.studies.specs.reading import read_spec
from support.processes import python

SHELF = Path(__file__).parents[2] / "studies"
STUDIES = sorted(path.parent.name for path in SHELF.glob("*/spec.toml"))
WITH_RESULTS = sorted(path.parent.name for path in SHELF.glob("*/results*.parquet"))
# Of earlier versions of heavy_psrl or of the sketch: to be computed again
OUTDATED = ("default-scales", "law-map", "tell-it-nothing-long")


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("quick", [False, True])
def test_published_specs_are_sound(name: str, quick: bool) -> None:
    check_plan(read_spec(published(name), quick=quick))


@pytest.mark.parametrize("name", WITH_RESULTS)
def test_published_results_are_whole_and_of_their_spec(name: str) -> None:
    study = published_result(name)
    assert study is not None
    stages = study.stages()
    assert any(stage.missing for stage in stages) == (name in OUTDATED)
    if name in OUTDATED:
        return
    assert stages[-1].phase == ("map" if study.spec.maps else "evaluation")
    spec = read_spec(published(name))
    assert result_relevant(study.spec.model_dump(mode="json")) == result_relevant(
        spec.model_dump(mode="json")
    )
    path = f"studies/{name}/{study.store.folder.name}"
    remedy = f"heavytail pack {path} --spec studies/{name}/spec.toml --out {path}"
    assert study.spec.claims == spec.claims, f"words have changed; to take them over: {remedy}"
    assert study.failures().empty


def test_results_are_read_without_the_theorems(tmp_path: Path) -> None:
    script = f"""
    import sys, heavytail as ht
    ht.load({str(SHELF / "maps")!r}).curves()
    print([name for name in sys.modules if name.startswith("heavytail.bounds")])
    """
    assert python(script, folder=tmp_path) == "[]"


def test_a_study_has_a_spec_and_at_most_its_plugins_and_results() -> None:
    allowed = {"spec.toml", "README.md", "NOTEBOOK.md", *RESULTS, "__pycache__"}
    for name in STUDIES:
        plugins = {f"{module}.py" for module in read_spec(published(name)).plugins}
        assert {path.name for path in published(name).parent.iterdir()} <= allowed | plugins
    assert set(WITH_RESULTS) == {
        "deep-control",
        "deep-noise",
        "deep-robust",
        "default-scales",
        "law-map",
        "maps",
        "paper-deep",
        "tell-it-nothing-long",
    }


def quick_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: bool, **changes: Any
) -> list[tuple[str, int]]:
    monkeypatch.setattr("heavytail.studies.published.gpu_there", lambda: gpu)
    for name, value in changes.items():
        monkeypatch.setattr(shelf, name, value)
    return [
        (study.store.folder.relative_to(tmp_path).as_posix(), study.spec.seeds)
        for study in to_reproduce("paper", tmp_path / "r", quick=False)
    ]


def test_what_needs_a_gpu_is_run_at_its_quick_scale_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quick_there(tmp_path, monkeypatch, gpu=False) == [("r", 30), ("r/paper-deep-quick", 8)]
    assert quick_there(tmp_path, monkeypatch, gpu=True) == [("r", 30), ("r/paper-deep", 24)]
    assert shelf.left_out("paper") == []
    assert quick_there(tmp_path, monkeypatch, gpu=False, find_spec=lambda name: None) == [("r", 30)]
    assert shelf.left_out("paper") == ["paper-deep"]


def test_the_published_result_is_shown_beside(tmp_path: Path) -> None:
    shown = list(find_companions("paper", to_reproduce("paper", tmp_path, quick=True)))
    assert [each.study.spec.name for each in shown] == ["paper-deep", "paper-deep"]
    assert [each.study.spec.seeds for each in shown] == [8, 24]
    assert "NVIDIA H200 with: heavytail run studies/paper-deep/spec.toml" in shown[1].words
