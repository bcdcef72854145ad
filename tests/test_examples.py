"""Examples run, at a small size, and end in a picture."""

import importlib
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from support.processes import python

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL: dict[str, dict[str, Any]] = {
    "insurance": {"contracts": 200, "runs": 2},
    "market": {"steps": 500},
    "my_agent": {"episodes": 200, "runs": 2},
    "pareto_queue": {"jobs": 200, "runs": 2},
    "router": {"requests": 200, "runs": 2},
    "study_in_ten_lines": {"episodes": 50, "seeds": 2, "engine": "inline"},
}
APART = {
    "many_workers": "processes of its own",
    "stable_baselines3_noise": "beside Stable-Baselines3: tests/interop",
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SMALL, *APART}


@pytest.mark.parametrize("name", SMALL)
def test_an_example_ends_in_a_picture(name: str) -> None:
    mpl.use("agg")
    figure = importlib.import_module(name).main(**SMALL[name])
    assert all(axes.lines or axes.collections or axes.patches for axes in figure.axes)
    assert all(axes.get_xlabel() for axes in figure.axes)
    plt.close(figure)


def test_many_workers_share_one_agent() -> None:
    script = """
    import matplotlib; matplotlib.use("agg")
    import many_workers
    if __name__ == "__main__":
        many_workers.main(customers=20, workers=2)
    """
    assert "updates=40" in python(script, folder=EXAMPLES)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_has_a_title_and_says_what_its_picture_shows(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[1] == "=" * (len(lines[0]) - 3)
    last = path.read_text().rpartition("# %%\n")[2]
    assert last.startswith("# ")
    assert 'if __name__ == "__main__":' in last
