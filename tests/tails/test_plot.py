from pathlib import Path

import numpy as np
import pytest

import heavytail as ht
from heavytail.files import save_figure
from heavytail.tails.plot import draw_diagnoses

RNG = np.random.default_rng(0)
REWARDS = {
    "heavy": RNG.standard_t(1.5, 500),
    "bits": RNG.integers(0, 2, 500),
    "one": np.where(np.arange(500) == 7, 1e6, 0.0),
}


def test_every_kind_of_rewards_can_be_drawn(tmp_path: Path) -> None:
    figure = draw_diagnoses({name: ht.tails.diagnose(rewards) for name, rewards in REWARDS.items()})
    assert [axes.get_title(loc="left").partition(":")[0] for axes in figure.axes[::3]] == list(REWARDS)
    assert save_figure(figure, tmp_path / "tails.svg").stat().st_size > 1000


def test_the_fit_begins_at_the_threshold() -> None:
    found = ht.tails.diagnose(REWARDS["heavy"])
    figure = found.plot()
    assert figure.axes[0].get_title(loc="left") == "500 rewards"
    fits = [line for line in figure.axes[0].lines if str(line.get_label()).startswith("fit")]
    start = np.asarray(fits[0].get_xydata())[0]
    assert start == pytest.approx([found.upper.threshold - found.median, found.upper.excesses / found.n])
