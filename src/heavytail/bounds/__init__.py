r"""The theorems of Zhuang and Sui (2021) as functions of numbers, and the bounds of the baselines.

``constants="paper"`` is the statement as printed, ``"tight"`` (the default) what its proof gives when it is
corrected; the module of each theorem says what was corrected and why. Terms are kept apart, by their
logarithms, since some numbers have a hundred digits.

>>> from heavytail.bounds import compute_bound
>>> world = {"S": 2, "A": 2, "diameter": 2, "r_max": 1, "raw_moment": 1, "epsilon": 0.5}
>>> bound = compute_bound("heavy_ucrl2", 1e12, **world)
>>> f"{bound.transitions:.1e} + {bound.heavy_tail:.1e} + {bound.lower_order:.1e} = {bound.total:.1e}"
'2.9e+08 + 1.1e+10 + 2.9e+07 = 1.1e+10'
>>> str(bound.rules), bool(bound.vacuous)
('heavy_tail', False)

`bounds_of` computes them from the exact quantities of an MDP; ``heavytail bounds ENV`` prints them. A file
with ``@theorem(...)`` adds a bound to both: see `heavytail.bounds.catalogue`.
"""

from heavytail.bounds.bound import Bound
from heavytail.bounds.catalogue import Bounds, bounds_at, bounds_of, compute_bound
from heavytail.bounds.plot import draw_bounds
from heavytail.bounds.quantities import Quantities, quantities_of

__all__ = [
    "Bound",
    "Bounds",
    "Quantities",
    "bounds_at",
    "bounds_of",
    "compute_bound",
    "draw_bounds",
    "quantities_of",
]
