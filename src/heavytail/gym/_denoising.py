"""What all wrappers that denoise rewards share: how they are looked at."""

from typing import Any

from heavytail.errors import InputError
from heavytail.gym._denoiser import Denoiser
from heavytail.gym._filtering import Filtering


class Denoising(Filtering):
    """Properties and methods of a wrapper around a denoiser."""

    _filter: Denoiser
    _file = "file of estimates"

    @property
    def cells(self) -> int:
        """How many cells there are, with those around them."""
        return self._filter.cells

    def estimate(self, observation: Any, action: Any, *, terminated: bool = False) -> float:
        """Return the present estimate of the mean reward of an action."""
        if self._filter.steps == 0:
            raise InputError("estimate: there was no reward yet; take a step first")
        return self._filter.estimate(observation, action, end=terminated)
