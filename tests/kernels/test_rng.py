"""The generator against its published output, and the draws made from it against SciPy.

Every statistical test has a fixed seed, so that it cannot fail by chance one day. `LEVEL` is its false alarm
rate: how likely a sound generator would have been refused by the seed that was chosen.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats

from heavytail.arrays import Floats, Ints, Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import (
    Streams,
    bits,
    exponential,
    gamma,
    integer,
    normal,
    open_uniform,
    pair,
    skip_pair,
    stream,
    streams,
    uniform,
)

LEVEL = 1e-4
N = 200_000
N_TAIL = 2_000_000
SHAPES = (0.3, 1.0, 2.5, 50.0)
MAX_UINT64 = 2**64 - 1

PUBLISHED = (
    41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205, 9973669472204895162,
    14011001112246962877, 12406186145184390807, 15849039046786891736, 10450023813501588000,
)  # fmt: skip


def _filler(kernel: Any) -> Any:
    def fill(rng: Stream, out: Floats) -> None:
        for k in range(out.size):
            out[k] = kernel(rng)

    return fill


def _fill_gamma(rng: Stream, shape: float, out: Floats) -> None:
    for k in range(out.size):
        out[k] = gamma(rng, shape)


def _fill_integer(rng: Stream, n: int, out: Ints) -> None:
    for k in range(out.size):
        out[k] = integer(rng, n)


KERNELS: dict[str, Any] = {
    "uniform": uniform,
    "open_uniform": open_uniform,
    "exponential": exponential,
    "normal": normal,
    "gamma": gamma,
}
FILLS = {name: _filler(kernel) for name, kernel in KERNELS.items()} | {"gamma": _fill_gamma}
CALLS = [
    ("uniform",),
    ("open_uniform",),
    ("exponential",),
    ("normal",),
    *(("gamma", shape) for shape in SHAPES),
]


@pytest.fixture(autouse=True)
def _whole_numbers_wrap() -> Iterator[None]:
    """Plain Python warns where the generator's arithmetic modulo 2**64 wraps, which is what it is for."""
    with np.errstate(over="ignore"):
        yield


def draw(n: int, rng: Stream, name: str, *parameters: float) -> Floats:
    out = np.empty(n)
    entry(FILLS[name])(rng, *parameters, out)
    return out


def state(*words: int) -> Stream:
    return np.array(words, np.uint64)


def state_before(raw: int) -> Stream:
    """A state whose next 64 bits are all zero or all one: with s0 = 0 they are s3, rotated."""
    return state(0, 1, 0, raw)


# The generator


def test_bits_are_the_published_output_of_xoshiro256plusplus() -> None:
    rng = state(1, 2, 3, 4)
    assert tuple(int(bits(rng)) for _ in PUBLISHED) == PUBLISHED


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_compiled_draws_equal_plain_python_bit_for_bit(call: tuple[Any, ...]) -> None:
    name, *parameters = call
    compiled_rng, plain_rng = stream(11), stream(11)
    compiled = draw(2000, compiled_rng, name, *parameters)
    expected = np.array([KERNELS[name](plain_rng, *parameters) for _ in range(2000)])
    assert compiled.tobytes() == expected.tobytes()
    assert compiled_rng.tolist() == plain_rng.tolist()


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 2**40 + 1])
def test_compiled_integers_equal_plain_python(n: int) -> None:
    compiled_rng, plain_rng = stream(12), stream(12)
    out = np.empty(2000, np.int64)
    entry(_fill_integer)(compiled_rng, n, out)
    assert out.tolist() == [integer(plain_rng, n) for _ in range(2000)]
    assert compiled_rng.tolist() == plain_rng.tolist()


# Streams


def test_one_seed_gives_the_same_stream_on_every_machine() -> None:
    assert stream(0).tolist() == [
        0xDB2CD7E7B0F478BE,
        0xABF4641A2C71BA49,
        0x20C6ED6D9D7B8D41,
        0x2C4099DE223C39D4,
    ]


def words(run: Streams) -> list[tuple[int, ...]]:
    return [tuple(each.tolist()) for each in run]


def test_the_streams_of_a_seed_are_four_which_no_other_seed_has() -> None:
    assert len({*words(streams(3)), *words(streams(4))}) == 8
    assert words(streams(3)) == words(streams(3)) == words(streams(np.random.SeedSequence(3)))


def test_a_seed_sequence_given_twice_gives_the_same_streams_and_is_left_as_it_was() -> None:
    sequence = np.random.SeedSequence(5)
    untouched = np.random.SeedSequence(5)
    assert words(streams(sequence)) == words(streams(sequence))
    assert sequence.n_children_spawned == 0
    assert stream(sequence.spawn(1)[0]).tolist() == stream(untouched.spawn(1)[0]).tolist()


def test_the_children_of_a_seed_sequence_have_streams_of_their_own() -> None:
    runs = [streams(child) for child in np.random.SeedSequence(5).spawn(3)]
    assert len({each for run in runs for each in words(run)}) == 12


def test_the_streams_of_one_seed_are_uncorrelated() -> None:
    values = np.array([draw(N, s, "uniform") for s in streams(0)])
    correlation = np.corrcoef(values)
    pairs = list(itertools.combinations(range(len(values)), 2))
    # Each correlation is normal with deviation 1 / sqrt(N); LEVEL is shared among the pairs and both signs.
    bound = scipy.stats.norm.isf(LEVEL / (2 * len(pairs))) / math.sqrt(N)
    assert max(abs(correlation[i, j]) for i, j in pairs) < bound


# What a draw consumes


def test_a_pair_is_an_open_uniform_and_an_exponential_and_consumes_two_raw_draws() -> None:
    rng, raw, separate = stream(1), stream(1), stream(1)
    u, e = pair(rng)
    bits(raw)
    bits(raw)
    assert rng.tolist() == raw.tolist()
    assert u == open_uniform(separate)
    assert e == exponential(separate)


def test_skipping_a_pair_consumes_what_drawing_it_does() -> None:
    drawn, skipped = stream(2), stream(2)
    for _ in range(10):
        pair(drawn)
        skip_pair(skipped)
        assert drawn.tolist() == skipped.tolist()


# The ends of the range


@pytest.mark.parametrize(("raw", "expected"), [(0, 2.0**-53), (MAX_UINT64, 1.0 - 2.0**-53)])
def test_open_uniform_at_its_extreme_bits_is_neither_zero_nor_one(raw: int, expected: float) -> None:
    assert int(bits(state_before(raw))) == raw
    assert open_uniform(state_before(raw)) == expected


@pytest.mark.parametrize(("raw", "expected"), [(0, 0.0), (MAX_UINT64, 1.0 - 2.0**-53)])
def test_uniform_reaches_zero_and_never_one(raw: int, expected: float) -> None:
    assert uniform(state_before(raw)) == expected


@pytest.mark.parametrize(("raw", "expected"), [(0, 53.0 * math.log(2.0)), (MAX_UINT64, 2.0**-53)])
def test_exponential_at_its_extreme_bits_is_positive_and_finite(raw: int, expected: float) -> None:
    assert exponential(state_before(raw)) == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000, 2**31 - 1, 2**40, 2**40 + 1])
def test_integer_at_its_extreme_bits_stays_below_n(n: int) -> None:
    assert integer(state_before(0), n) == 0
    assert integer(state_before(MAX_UINT64), n) == n - 1


# Against SciPy


@pytest.mark.parametrize(
    ("call", "reference"),
    [
        (("uniform",), scipy.stats.uniform()),
        (("open_uniform",), scipy.stats.uniform()),
        (("exponential",), scipy.stats.expon()),
        (("normal",), scipy.stats.norm()),
        *((("gamma", shape), scipy.stats.gamma(shape)) for shape in SHAPES),
    ],
    ids=[str(call) for call in CALLS],
)
def test_draws_follow_their_law(call: tuple[Any, ...], reference: Any) -> None:
    name, *parameters = call
    assert scipy.stats.ks_1samp(draw(N, stream(21), name, *parameters), reference.cdf).pvalue > LEVEL


def test_integers_are_equally_likely() -> None:
    out = np.empty(N, np.int64)
    entry(_fill_integer)(stream(22), 7, out)
    counts = np.bincount(out)
    assert len(counts) == 7
    assert scipy.stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.parametrize(
    ("name", "threshold", "probability"),
    [
        *(("exponential", x, scipy.stats.expon.sf(x)) for x in (5.0, 8.0, 11.0)),
        *(("normal", x, scipy.stats.norm.sf(x)) for x in (2.5, 3.5, 4.2)),
        *(("normal", -x, scipy.stats.norm.sf(x)) for x in (2.5, 3.5, 4.2)),
    ],
)
def test_the_far_tail_is_as_frequent_as_it_should_be(name: str, threshold: float, probability: float) -> None:
    values = draw(N_TAIL, stream(23), name)
    count = np.count_nonzero(values > threshold if threshold > 0 else values < threshold)
    lower, upper = scipy.stats.binom.interval(1.0 - LEVEL, N_TAIL, probability)
    assert lower <= count <= upper


@pytest.mark.parametrize("shape", [math.nan, math.inf, -math.inf, -0.5, -1e300, 0.0, 1e-320])
def test_a_gamma_variate_of_any_shape_comes_to_an_end(shape: float) -> None:
    """A shape from a hostile file must not hold a process for ever."""
    out = np.zeros(100)
    entry(_fill_gamma)(stream(1), shape, out)
