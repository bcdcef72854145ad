import numpy as np
import pytest
from matplotlib.figure import Figure

import heavytail as ht
from support import mdps


@pytest.mark.parametrize("law", mdps.all_laws(), ids=lambda law: law.name)
def test_every_law_can_be_plotted(law: ht.laws.Law) -> None:
    figure = law.plot()
    figure.draw_without_rendering()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles in (["probability"], ["density", "P(|reward − median| > x)"])


def test_rare_values_of_a_discrete_law_are_drawn_with_their_exact_probabilities() -> None:
    part = Figure().subfigures()
    assert ht.laws.bernoulli(1e-7, scale=1e6).plot(part) is part
    (stem,) = part.axes[0].containers
    np.testing.assert_allclose(stem.markerline.get_xydata(), [[0.0, 1.0 - 1e-7], [1e6, 1e-7]])
