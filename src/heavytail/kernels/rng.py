"""Random streams: xoshiro256++ on a ``uint64[4]`` array, and the draws made from it.

An array is cheap to pass, trivial to save and works on a GPU. A run has separate streams, so that an agent's
draws never change what its environment does, and two agents with the same seed meet the same transitions and
the same noise. Whatever its law, a reward consumes one *pair*, a uniform and an exponential: two raw draws.

Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021).
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats, Stream, U
from heavytail.errors import InputError, short_repr
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import ONE, exp, from_bits, log, sin
from heavytail.ranges import Fact, Range


class Streams(NamedTuple):
    """The three streams of a run, and one for predictions."""

    transitions: Stream  # [4]
    rewards: Stream  # [4]
    agent: Stream  # [4]
    predictions: Stream  # [4]; never drawn from while learning

    def ranges(self) -> dict[str, Range]:
        """Return the ranges of the streams: any bits are valid."""
        return dict.fromkeys(self._fields, Range(0, 2**64 - 1))

    def facts(self) -> Iterator[Fact]:
        """Check that no stream is all zeros, where xoshiro256++ would stay."""
        yield "a random stream is all zeros, and would stay so", all(stream.any() for stream in self)


Seed: TypeAlias = int | np.integer[Any] | np.random.SeedSequence


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Make a NumPy seed sequence from a seed; the caller's own sequence is copied, not changed."""
    if isinstance(seed, np.random.SeedSequence):
        # A SeedSequence counts its children: spawning from the caller's would give different ones next time.
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(
            f"seed is {short_repr(seed)};"
            " it must be a whole number, at least 0, or a numpy.random.SeedSequence"
        )
    return np.random.SeedSequence(int(seed))


def stream(seed: Seed) -> Stream:
    """Make one stream; the same seed gives the same stream on every machine.

    >>> stream(0).shape
    (4,)
    """
    return seed_sequence(seed).generate_state(4, np.uint64).astype(np.uint64)


def streams(seed: Seed) -> Streams:
    """Make the streams of a run, independent of each other."""
    return Streams(*(stream(child) for child in seed_sequence(seed).spawn(len(Streams._fields))))


@kernel
def output(s0: U, s3: U) -> U:
    """Return the output of xoshiro256++ in a state."""
    x = s0 + s3
    return ((x << U(23)) | (x >> U(41))) + s0


@kernel
def next_state(s0: U, s1: U, s2: U, s3: U) -> tuple[U, U, U, U]:
    """Return the next state of xoshiro256++."""
    t = s1 << U(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    return s0, s1, s2, (s3 << U(45)) | (s3 >> U(19))


@kernel
def bits(rng: Stream) -> U:
    """Draw 64 random bits: one step of xoshiro256++."""
    out = output(rng[0], rng[3])
    rng[0], rng[1], rng[2], rng[3] = next_state(rng[0], rng[1], rng[2], rng[3])
    return out


@kernel
def fill_pairs(rng: Stream, first: Stream, second: Stream) -> None:
    """Fill two arrays with raw draws, alternating; the state stays in registers meanwhile."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    for k in range(first.size):
        first[k] = output(s0, s3)
        s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
        second[k] = output(s0, s3)
        s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, s3


@kernel
def fill_open_uniforms(rng: Stream, out: Floats) -> None:
    """Fill an array with draws of `open_uniform`; the state stays in registers meanwhile."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    for k in range(out.size):
        out[k] = to_open_uniform(output(s0, s3))
        s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, s3


@kernel
def uniform(rng: Stream) -> float:
    """Draw a float in [0, 1), a multiple of 2**-53."""
    return float(bits(rng) >> U(11)) * 2.0**-53


@kernel
def open_uniform(rng: Stream) -> float:
    """Draw a float in (0, 1), an odd multiple of 2**-53.

    Its logarithm is finite, and so is that of its complement.
    """
    return to_open_uniform(U(bits(rng)))


@kernel
def to_open_uniform(raw: U) -> float:
    """Make a float in (0, 1) from 64 random bits."""
    return from_bits((raw >> U(12)) | ONE) - (1.0 - 2.0**-53)  # exact: from [1, 2) down, and half a step up


@kernel
def exponential(rng: Stream) -> float:
    """Draw a standard exponential, positive and finite."""
    return -log(open_uniform(rng))


@kernel
def pair(rng: Stream) -> tuple[float, float]:
    """Draw the (uniform, exponential) pair from which every reward is made."""
    u = open_uniform(rng)
    return u, exponential(rng)


@kernel
def skip_pair(rng: Stream) -> None:
    """Consume a pair without the cost of its logarithm."""
    bits(rng)
    bits(rng)


@kernel
def cos_2pi(u: float) -> float:
    """Compute cos(2 pi u) for u from 0 to 1, as the sine of pi (2 |u - 1/2| - 1/2)."""
    return sin(math.pi * (2.0 * abs(u - 0.5) - 0.5))


@kernel
def to_normal(u: float, e: float) -> float:
    """Make a standard normal from a pair (Box and Muller)."""
    return math.sqrt(2.0 * e) * cos_2pi(u)


@kernel
def normal(rng: Stream) -> float:
    """Draw a standard normal."""
    u, e = pair(rng)
    return to_normal(u, e)


@subroutine
def gamma(rng: Stream, shape: float) -> float:
    """Draw a gamma variate of scale 1 (Marsaglia and Tsang 2000; for shapes below 1 by their section 6)."""
    boost = 1.0
    if shape < 1.0:
        boost = exp(-exponential(rng) / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if not v <= 0.0:  # a NaN shape ends here too, and gives NaN
            v = v * v * v
            u = open_uniform(rng)
            # The first condition implies the second and mostly spares its logarithms.
            if u < 1.0 - 0.0331 * x * x * x * x or log(u) < 0.5 * x * x + d - d * v + d * log(v):
                return boost * d * v


@kernel
def integer(rng: Stream, n: int) -> int:
    """Draw a whole number from 0 to n - 1, for n far below 2**53."""
    return int(uniform(rng) * n)
