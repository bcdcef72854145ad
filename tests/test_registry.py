import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import heavytail as ht
from heavytail.errors import InputError
from heavytail.registry import Kind, _own_modules, find, register, registered
from support.processes import python

# A type checker would find most of the mistakes below by itself.
laws: Any = ht.laws
KINDS: tuple[Kind, ...] = ("agent", "env", "estimator", "law")


def test_everything_registered_is_named_after_its_builder_and_documented() -> None:
    for kind in KINDS:
        entries = registered(kind)
        assert entries
        assert [entry.name for entry in entries] == sorted({entry.name for entry in entries})
        assert all(entry.builder.__name__ == entry.name and entry.doc for entry in entries)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ht.make_mdp("six_arm"), "there is no environment 'six_arm'; did you mean 'six_arms'?"),
        (
            lambda: ht.make_agent(ht.make_mdp("six_arms"), "q_lerning"),
            "there is no agent 'q_lerning'; did you mean 'q_learning'?",
        ),
        (lambda: find("law", "xyz"), "there is no law 'xyz'; choose from: alpha_stable, bernoulli, "),
        (lambda: laws.normal(1, scal=2), "normal has no parameter 'scal'; did you mean 'scale'?"),
        (laws.student_t, "student_t needs df= (degrees of freedom; with 1 or less "),
        (
            lambda: laws.normal(1, 2, 3),
            "normal: too many positional arguments; its parameters are loc, scale",
        ),
        (lambda: laws.normal(scale=-1), "normal: scale must be above 0, got -1.0"),
        (lambda: laws.normal(loc=math.nan), "normal: loc must be finite, got nan"),
        (lambda: laws.normal(loc="1"), "normal: loc must be a number, got '1'"),
        (lambda: laws.alpha_stable(2.5), "alpha_stable: alpha must be at most 2, got 2.5"),
        (lambda: laws.pareto(1.5, symmetric=2), "pareto: symmetric must be True or False, got 2"),
        (lambda: ht.make_mdp("six_arms", horizon=2.5), "six_arms: horizon must be a whole number, got 2.5"),
        (
            lambda: ht.make_mdp("six_arms", probabilities="one"),
            "six_arms: probabilities is 'one'; did you mean 'ones'?",
        ),
        (
            lambda: ht.make_agent(ht.make_mdp("six_arms"), "q_learning", transition_scal=1),
            "q_learning has no parameter 'transition_scal'; did you mean 'transition_scale'?",
        ),
        (
            lambda: ht.make_agent(ht.make_mdp("six_arms"), "q_learning", delta=1),
            "q_learning: delta must be below 1, got 1.0",
        ),
        (
            lambda: ht.make_agent(ht.make_mdp("six_arms", horizon=None), "q_learning"),
            "q_learning learns in episodes, but this problem is continuing; give it a horizon=",
        ),
        (
            lambda: ht.make_agent(3, "random"),
            "make_agent: env is a int; it must be an MDP, such as make_mdp('six_arms')",
        ),
    ],
)
def test_mistakes_are_one_line_that_names_the_remedy(call: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_misspelt_law_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="did you mean 'normal'"):
        laws.normall  # noqa: B018 - the look-up is the test


def test_one_name_cannot_mean_two_things() -> None:
    with pytest.raises(
        TypeError, match=r"the law 'normal' is registered already, by heavytail\.laws\.normal"
    ):
        register("law", "normal")(lambda: None)


def test_arguments_come_back_complete_and_cast() -> None:
    assert find("law", "normal").arguments(1, scale=np.float32(2)) == {"loc": 1.0, "scale": 2.0}
    assert list(find("law", "student_t").parameters) == ["df", "loc", "scale"]


def test_a_plugin_is_found_by_its_entry_point_compiled_and_kept(tmp_path: Path) -> None:
    """A package that is installed, never imported by hand, with an agent, a law and an environment in it."""
    (tmp_path / "my_plugin.py").write_text((Path(__file__).parent / "support" / "plugin.py").read_text())
    info = tmp_path / "my_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[heavytail.plugins]\nmine = my_plugin\n")
    script = """
    import heavytail as ht
    from heavytail.training import fused
    from heavytail.training.reward_batches import new_reward_batch
    from heavytail.kernels.compiling import entry
    mdp = ht.make_mdp("triangle", law=ht.laws.triangular(loc=2.0))
    learner = ht.make_agent(mdp, "stubborn", action=1, seed=0)
    curve = learner.learn(1000)
    agent, streams, recorded = learner.agent, learner.streams, fused.new_checkpoints(curve.at, learner.agent)
    chunk = entry(fused.run_chunk, agent, mdp, streams, new_reward_batch(mdp), learner.run_state, recorded)
    mean, realised = curve.mean_reward[-1], curve.realised_reward[-1]
    print(mean, abs(realised / mean - 1) < 0.05, sum(chunk.dispatcher.stats.cache_hits.values()))
    """
    first, second = (
        python(script, folder=tmp_path, HEAVYTAIL_CACHE_DIR=str(tmp_path / "kept")) for _ in range(2)
    )
    assert (first, second) == ("2000.0 True 0", "2000.0 True 1")


@pytest.mark.parametrize("fault", ["import nowhere", "raise SystemExit(3)", "1 / 0"])
def test_a_plugin_that_cannot_be_imported_is_named_and_the_rest_is_found(fault: str, tmp_path: Path) -> None:
    (tmp_path / "broken_plugin.py").write_text(fault)
    info = tmp_path / "broken_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[heavytail.plugins]\nmine = broken_plugin\n")
    script = """
    import warnings
    import heavytail as ht
    from heavytail.cli.list import list_things
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print([law.name for law in ht.registered("law")][:2])
        try:
            ht.make_mdp("no such")
        except ht.InputError as error:
            print(error)
    print(len(caught), caught[0].message)
    """
    found, refused, warned = python(script, folder=tmp_path).splitlines()
    assert found == "['alpha_stable', 'bernoulli']"
    said = "the plugin mine (broken_plugin) cannot be imported: "
    assert refused.startswith("there is no environment 'no such'; ")
    assert said in refused
    assert warned.startswith(f"1 {said}")


def test_helpers_of_a_package_are_not_taken_for_its_members() -> None:
    for kind in KINDS:
        assert not any(name.startswith("_") for name in _own_modules(kind))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="there is no kind 'agents'; did you mean 'agent'"):
        registered(cast("Kind", "agents"))
    with pytest.raises(InputError, match="there is no kind 'laws'; did you mean 'law'"):
        register(cast("Kind", "laws"), "x")
