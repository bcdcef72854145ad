"""The learner of deep runs: curves, files, interruptions, parameters, mistakes."""

import json
import math
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import AgentFile, read_agent_file, write_agent_file
from heavytail.deep.settings import PER_RUN
from heavytail.errors import install_extra
from support.processes import python
from support.small_deep import SHARED, SMALL, same

heavy_dqn = ht.deep.heavy_dqn


def same_curve(one: ht.deep.DeepCurve, other: ht.deep.DeepCurve) -> None:
    same(asdict(one), asdict(other))
    for name in ("mean_return", "truncated_share"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("agent", "parameters"), [("heavy_dqn", SMALL), ("robust_dqn", SHARED), ("qr_dqn", SHARED)]
)
def test_interrupted_and_resumed_is_uninterrupted_bit_for_bit(
    agent: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    runs = [{"seed": 3, "noise_scale": 5.0}, {"seed": 4}]
    once, first = (getattr(ht.deep, agent)("pendulum", runs=runs, **parameters) for _ in range(2))
    once.learn(at=[50, 250, 450, 600])
    first.learn(300, at=[50, 250, 450, 600])
    first.save(tmp_path / "deep.npz")
    second = ht.deep.DeepLearner.load(tmp_path / "deep.npz")
    assert repr(second) == "DeepLearner('pendulum', runs=2, steps=300 of 600)"
    assert second.curve.steps.tolist() == [50, 250]
    assert second.complete_parameters() == once.complete_parameters()
    second.learn(at=[50, 250, 450, 600])
    same(once.states, second.states)
    same_curve(once.curve, second.curve)
    assert once.predict(np.zeros(3), run=1) == second.predict(np.zeros(3), run=1)
    assert read_agent_file(tmp_path / "deep.npz").metadata["made_with"] == second.made_with
    assert second.made_with == {"jax": jax.__version__, "device": jax.devices()[0].device_kind}


def test_ctrl_c_loses_nothing() -> None:
    once, stopped = (heavy_dqn("cart_pole", seed=5, **SMALL) for _ in range(2))
    once.learn(at=[300, 600])

    def stop(steps: int) -> None:
        if steps >= 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.learn(at=[300, 600], on_chunk=stop)
    assert stopped.curve.steps.tolist() == [300]
    stopped.learn(at=[300, 600])
    same(once.states, stopped.states)
    same_curve(once.curve, stopped.curve)


def test_the_curve_adds_up_over_calls() -> None:
    once, often = (heavy_dqn("cart_pole", seed=6, **SMALL) for _ in range(2))
    once.learn(checkpoints=4)
    assert once.curve.steps.tolist() == [150, 300, 450, 600]
    for _ in range(4):
        often.learn(150, checkpoints=1)
    same_curve(once.curve, often.curve)
    curve = once.curve
    assert (np.diff(curve.clean_return) >= 0).all()  # a reward of 1 a step
    assert 0 < 600 - curve.clean_return[0, -1] <= 500  # all steps but those of the unfinished episode
    np.testing.assert_allclose(
        np.diff(curve.clean_return)[0] / np.diff(curve.episodes)[0], curve.mean_return[0, 1:]
    )
    assert np.isnan(
        ht.deep.DeepCurve(np.array([50]), np.array([[0]]), np.array([[0.0]]), np.array([[0]])).mean_return
    ).all()


def test_a_progress_bar_shows_steps_and_speed(capsys: pytest.CaptureFixture[str]) -> None:
    learner = heavy_dqn("cart_pole", **SMALL)
    learner.learn(progress=True)
    with pytest.raises(ht.InputError, match="all 600 steps are done; for more, start with a larger"):
        learner.learn(50)
    shown = capsys.readouterr().out
    assert "heavy_dqn on cart_pole" in shown
    assert "600/600 steps" in shown


def test_parameters_are_completed_without_training() -> None:
    page = ht.deep.complete_parameters("cart_pole", coefficient=1, **SMALL)
    assert json.loads(json.dumps(page)) == page
    assert set(PER_RUN) < set(page)
    learner = heavy_dqn("cart_pole", **page)
    assert learner.complete_parameters() == [page]
    assert ht.deep.complete_parameters("cart_pole", **page) == page


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"env": "bipedal"}, "there is no compiled environment 'bipedal'; choose from"),
        ({"loss": "hubr"}, "loss is 'hubr'; did you mean 'huber'"),
        ({"transform": "zer"}, "transform is 'zer'; did you mean 'zero'"),
        ({"coeficient": 1.0}, "no parameter 'coeficient'; did you mean 'coefficient'"),
        ({"noise_scale": math.nan}, "noise_scale must be finite, got nan"),
        ({"noise_alpha": 2.5}, "noise_alpha must be at most 2, got 2.5"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"bits": 32}, "bits must be at most 31, got 32"),
        ({"hidden": 512}, "hidden must be a list, got 512"),
        ({"hidden": (16, 0)}, r"hidden\[1\] must be at least 1"),
        ({"update_every": 3}, "target_every 50 must be a multiple of update_every 3"),
        ({"start": 10}, "start is 10; it must be at least batch, 64"),
        ({"total_steps": 49}, "total_steps is 49; it must be at least target_every, 50"),
        ({"hidden": (10**9, 10**9)}, r"a network of layers .* would take 16 EB of memory"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"cap": 0.5}, "cap must be a whole number"),
        ({"agent": "robust_dqn", "transform": "clip"}, "robust_dqn has no parameter 'transform'"),
        ({"agent": "robust_dqn", "batch": 0}, "robust_dqn: batch must be at least 1"),
        ({"agent": "robust_dqn", "noise_law": "cauchy"}, "robust_dqn: noise_law is 'cauchy'; choose from"),
        (
            {"agent": "qr_dqn", "noise_law": "pareto", "noise_alpha": 1.0},
            "noise_alpha is 1.0; it must be above 1, where Pareto's law has a",
        ),
    ],
)
def test_mistakes_in_parameters_are_one_line(parameters: dict[str, Any], message: str) -> None:
    given = {"env": "cart_pole", "agent": "heavy_dqn", **parameters}
    agent = getattr(ht.deep, given["agent"])
    with pytest.raises(ht.InputError, match=message) as caught:
        ht.deep.complete_parameters(**given)
    assert "\n" not in str(caught.value)
    del given["agent"]
    with pytest.raises(ht.InputError, match=message) as caught:
        agent(**given)
    assert "\n" not in str(caught.value)


def test_other_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ht.InputError, match="there is no deep agent 'robust_dq'; did you mean 'robust_dqn'"):
        ht.deep.complete_parameters("cart_pole", "robust_dq")
    with pytest.raises(ht.InputError, match="qr_dqn has no parameter 'clip'"):
        ht.deep.qr_dqn("cart_pole", runs=[{"clip": 1.0}])
    with pytest.raises(ht.InputError, match="qr_dqn: env is not a parameter of a run"):
        ht.deep.qr_dqn("cart_pole", runs=[{"env": "acrobot"}])
    with pytest.raises(
        ht.InputError, match="runs of a batch cannot differ in hidden; they can in seed, transform"
    ):
        heavy_dqn("cart_pole", runs=[{"hidden": (8,)}])
    with pytest.raises(ht.InputError, match="cart_pole has its own bounds"):
        heavy_dqn("cart_pole", low=-1.0)
    learner = heavy_dqn("cart_pole", **SMALL)
    wrong: tuple[Any, ...] = (7, 650, 0, 50.0)
    for steps in wrong:
        with pytest.raises(
            ht.InputError,
            match=(
                rf"steps is {steps}; it must be a multiple of target_every, 50, up to the 600 that are"
                r" left"
            ),
        ):
            learner.learn(steps)
    with pytest.raises(ht.InputError, match="at has 75; checkpoints must be multiples of target_every, 50"):
        learner.learn(at=[50, 75])
    with pytest.raises(ht.InputError, match="has 4 numbers"):
        learner.predict([0.0])
    with pytest.raises(ht.InputError, match="there is no run 1; runs go from 0 to 0"):
        learner.predict(np.zeros(4), run=1)
    learner.save(tmp_path / "deep.npz")
    page, arrays = read_agent_file(tmp_path / "deep.npz")
    write_agent_file(
        tmp_path / "short.npz", AgentFile(page, arrays | {"states/counts": arrays["states/counts"][:, :3]})
    )
    with pytest.raises(
        ht.InputError, match=r"states/counts is int32\[1, 3, 2\] where int32\[1, 256, 2\] is expected"
    ):
        ht.deep.DeepLearner.load(tmp_path / "short.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"hidden": [2**30, 2**30]}}, "a network of layers .* would take 18.4 EB of memory"),
        ({"settings": {"hidden": [2**12, 2**12]}}, r"states/network/0/\w+ is .* is expected"),
        ({"settings": {"hidden": [2] * 10**5}}, "100,000 layers, and does not hold them"),
        ({"settings": {"batch": 10**9, "start": 10**9}}, "random words in a period; there is room for"),
        ({"settings": {"total_steps": 2**40}}, "total_steps must be below 2147483648"),
        ({"settings": {"discount": "x" * 10**5}}, "discount must be a number, got 'xxx"),
        ({"settings": {"speed": 1}}, "heavy_dqn has no parameter 'speed'"),
        ({"parameters": "x"}, "its parameters must be a list of runs"),
        ({"parameters": []}, "its parameters must be a list of runs"),
        ({"parameters": [{"seed": -1}]}, "seed must be at least 0"),
        ({"parameters": [{"seed": 0}] * 2}, r"is expected"),
        ({"steps": -50}, "its steps must be at least 0"),
        ({"steps": 51}, "its steps are 51, not a multiple of target_every, 50"),
        ({"steps": 10**6}, "its steps must be at most 600"),
        ({"deep": ["cart_pole"]}, "there is no compiled environment"),
        ({"made_with": None}, "AttributeError"),
        ({"totals": np.full((3, 1), np.nan)}, "its totals have a count that is not a count"),
        ({"totals": np.zeros((3, 2))}, r"totals is float64\[3, 2\] where float64\[3, 1\] is expected"),
        ({"curve/steps": np.array([100, 50])}, "the steps of its curve do not ascend"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Nothing is allocated for settings that ask for terabytes: shapes are compared first."""
    learner = heavy_dqn("cart_pole", **SMALL)
    learner.learn(100, checkpoints=2)
    learner.save(tmp_path / "deep.npz")
    metadata, arrays = read_agent_file(tmp_path / "deep.npz")
    for key, value in change.items():
        if key in arrays:
            arrays[key] = value
        else:
            metadata[key] = {**metadata[key], **value} if key == "settings" else value
    write_agent_file(tmp_path / "bad.npz", AgentFile(metadata, arrays))
    with pytest.raises(ht.InputError, match=message) as caught:
        ht.deep.DeepLearner.load(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_without_jax_runs_can_be_planned_and_no_more(tmp_path: Path) -> None:
    script = """
    import sys
    sys.modules["jax"] = None  # what cannot be imported
    import heavytail as ht
    print(ht.deep.complete_parameters("cart_pole")["cap"])
    try:
        ht.deep.heavy_dqn("cart_pole")
    except ht.InputError as error:
        print(error)
    """
    assert python(script, folder=tmp_path).splitlines() == [
        "500",
        f"heavytail.deep needs JAX; {install_extra('deep')}",
    ]


@pytest.mark.skipif(find_spec("gymnax") is not None, reason="gymnax is installed here")
def test_gymnax_is_asked_for_where_it_is_missing() -> None:
    for function in (heavy_dqn, ht.deep.complete_parameters):
        with pytest.raises(
            ht.InputError,
            match="gymnax/CartPole-v1 needs gymnax; install heavytail's extra 'gymnax'",
        ):
            function("gymnax/CartPole-v1")
