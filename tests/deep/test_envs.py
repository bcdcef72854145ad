"""One file adds a compiled environment: it is found by name, listed, planned and learnt in."""

from pathlib import Path

import pytest

import heavytail as ht
from heavytail.deep.envs import environment_names, find_environment, is_environment
from support.processes import python


def test_environments_are_found_by_name() -> None:
    assert environment_names() == ["acrobot", "cart_pole", "mountain_car", "pendulum"]
    for name in environment_names():
        assert is_environment(name)
        env = find_environment(name)
        assert env.name == name
        assert env == find_environment(name)  # so that nothing is compiled twice
    assert is_environment("gymnax/CartPole-v1")
    assert not is_environment("six_arms")
    with pytest.raises(ht.InputError, match="no compiled environment 'cart_poll'; did you mean 'cart_pole'"):
        find_environment("cart_poll")


def test_names_and_episode_limits_need_no_jax(tmp_path: Path) -> None:
    script = """
    import sys
    sys.modules["jax"] = None  # importing it fails
    from heavytail.deep.envs import environment_names, find_environment
    print([find_environment(name).max_episode_steps for name in environment_names()])
    from heavytail.cli import app
    app(["list", "deep"])
    """
    limits, *listed = python(script, folder=tmp_path).splitlines()
    assert limits == "[500, 500, 200, 200]"
    assert "mountain_car" in "".join(listed)


def test_an_environment_of_an_outside_module_is_learnt_in(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "support" / "deep_plugin.py"
    (tmp_path / "my_corridor.py").write_text(source.read_text())
    script = """
    import my_corridor
    import heavytail as ht
    from heavytail.deep.envs import is_environment
    from heavytail.studies.specs.spec import env_kind

    print(is_environment("corridor"), env_kind("corridor"), ht.deep.complete_parameters("corridor")["cap"])
    small = dict(total_steps=200, hidden=(8,), replay=200, start=100, bits=8)
    learner = ht.deep.heavy_dqn("corridor", runs=[{"seed": 1}, {"seed": 2}], **small)
    curve = learner.learn(checkpoints=2)
    print(curve.steps.tolist(), bool((curve.episodes[:, -1] >= 6).all()))
    learner.save("corridor.npz")
    print(ht.deep.DeepLearner.load("corridor.npz"))
    """
    assert python(script, folder=tmp_path).splitlines() == [
        "True deep 30",
        "[100, 200] True",
        "DeepLearner('corridor', runs=2, steps=200 of 200)",
    ]
