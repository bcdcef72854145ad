"""Agents for your own loop: episodes, labels, files, and what they say of mistakes."""

import copy
import gc
import itertools
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.errors import InputError
from heavytail.serving.session_file import Autosave
from support.online import NAMES, example_agent
from support.processes import python, send


def _make(name: str = "q_learning", **given: Any) -> ht.OnlineAgent[Any]:
    return ht.make_online(**{"states": 3, "actions": 2, "name": name, "seed": 0, "horizon": 4, **given})


def _drive(agent: ht.OnlineAgent[Any], steps: int, seed: int) -> list[Any]:
    """Show it random rewards and states; return what it did."""
    rng, s, done = np.random.default_rng(seed), 0, []
    for _ in range(steps):
        a = agent.act(s)
        s_next = int(rng.integers(agent.problem.n_states))
        agent.update(s, a, float(rng.standard_t(1.5)), s_next)
        done.append(a)
        s = s_next
    return done


def _same(left: ht.OnlineAgent[Any], right: ht.OnlineAgent[Any]) -> None:
    mine, other = flatten("session", left.session), flatten("session", right.session)
    for path in mine:
        np.testing.assert_array_equal(mine[path], other[path], err_msg=path)


def test_episodes_begin_and_end_by_themselves() -> None:
    """As they do when everything is said."""
    silent, told = _make("psrl"), _make("psrl")
    rng = np.random.default_rng(0)
    for _ in range(6):
        told.begin(0)
        for h in range(4):
            s_next = int(rng.integers(3))
            assert silent.act(0) == told.act(0, h)
            silent.update(0, 1, 0.5, s_next)
            told.update(0, 1, 0.5, s_next, h)
    _same(silent, told)


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_an_end_before_the_horizon_begins_another_episode(end: str) -> None:
    agent = _make()
    agent.act(0)
    agent.update(0, 0, 1.0, 1)
    assert (agent.session.h[0], agent.session.in_episode[0]) == (1, 1)
    agent.update(1, 0, 1.0, 2, **{end: True})
    assert (agent.session.h[0], agent.session.in_episode[0]) == (0, 0)


def test_without_a_horizon_there_is_no_last_step() -> None:
    agent = ht.make_online(3, 2, seed=0)
    _drive(agent, 50, seed=1)
    assert (agent.session.h[0], agent.session.in_episode[0], agent.updates) == (0, 1, 50)
    assert agent.policy().shape == (3,)


def test_a_contextual_bandit_learns_which_arm_is_best_in_which_context() -> None:
    rng = np.random.default_rng(3)
    bandit = ht.make_online(states=["am", "pm"], actions=["a", "b", "c"], horizon=1, seed=1)
    best = {"am": "b", "pm": "c"}
    for _ in range(3000):
        context = "am" if rng.random() < 0.5 else "pm"
        arm = bandit.act(context)
        bandit.update(context, arm, float(arm == best[context]) + rng.standard_t(1.5))
    assert dict(zip(bandit.states, bandit.policy(), strict=True)) == best


def test_the_last_step_of_a_horizon_is_terminal_said_or_not() -> None:
    agent, twin = _make(), _make()
    agent.update(0, 0, 1.0, 1, h=3)
    twin.update(np.int32(0), np.int64(0), 1.0, 1, h=3, terminated=True)
    _same(agent, twin)


def test_a_next_state_may_be_left_out_where_none_matters() -> None:
    agent = _make()
    agent.update(0, 0, 1.0, terminated=True)
    with pytest.raises(
        InputError, match="update: s_next is missing; only a terminated or one-step episode may"
    ):
        agent.update(0, 0, 1.0)


def test_labels_change_nothing_but_names() -> None:
    states, actions = list(itertools.product("ab", (1, 2))), ["left", "right"]
    named = ht.make_online(states=states, actions=actions, seed=2)
    plain = ht.make_online(states=4, actions=2, seed=2)
    rng, s = np.random.default_rng(0), 0
    for _ in range(60):
        s_next, r = int(rng.integers(4)), float(rng.normal())
        assert named.act(states[s]) == actions[plain.act(s)]
        named.update(states[s], "left", r, np.array(states[s_next], object))
        plain.update(s, 0, r, s_next)
        s = s_next
    _same(named, plain)
    assert [actions.index(a) for a in named.policy()] == plain.policy().tolist()


def test_predicting_changes_nothing_but_its_own_stream() -> None:
    agent = _make("random")
    _drive(agent, 10, seed=0)
    before = copy.deepcopy(agent.session)
    for _ in range(20):
        agent.predict(1)
    agent.policy()
    agent.session.predictions[:] = before.predictions
    for path, array in flatten("session", before).items():
        np.testing.assert_array_equal(flatten("session", agent.session)[path], array, err_msg=path)


@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize("name", ["heavy_psrl", "psrl", "ucbvi"])
def test_what_was_only_shown_a_log_predicts_by_it(name: str, horizon: int) -> None:
    """In each state another action pays, and the next state says nothing."""
    agent = example_agent(name, horizon=horizon)
    best, rng = [0, 1, 0], np.random.default_rng(0)
    for i in range(6000):
        s, a, h = i % 3, i // 3 % 2, i // 6 % horizon
        agent.update(s, a, rng.normal(float(a == best[s]), 0.1), int(rng.integers(3)), h)
    before = copy.deepcopy(agent.session)
    assert [agent.predict(s, 0) for s in range(3)] == np.atleast_2d(agent.policy())[0].tolist() == best
    for path, array in flatten("session", before).items():
        np.testing.assert_array_equal(flatten("session", agent.session)[path], array, err_msg=path)


def test_copies_that_only_predict_explore_as_the_file_changes(tmp_path: Path) -> None:
    """Each plans by numbers of its own, though the owner that only learns draws none."""
    owner, chosen = ht.make_online(1, 2, "psrl", seed=0, horizon=1), set()
    for _ in range(30):
        owner.save(tmp_path / "agent.npz")
        action = ht.OnlineAgent.load(tmp_path / "agent.npz").predict(0)
        owner.update(0, action, 0.0)
        chosen.add(action)
    assert chosen == {0, 1}


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded_it_goes_on_as_if_it_had_never_stopped(name: str, tmp_path: Path) -> None:
    whole, first = (example_agent(name, seed=5) for _ in range(2))
    done = [_drive(whole, 33, seed=7), _drive(whole, 30, seed=8)]
    assert _drive(first, 33, seed=7) == done[0]
    first.save(tmp_path / "agent.npz")
    second = ht.OnlineAgent.load(tmp_path / "agent.npz")
    assert repr(second) == repr(first) == f"OnlineAgent('{name}', states=3, actions=2, updates=33)"
    assert _drive(second, 30, seed=8) == done[1]
    _same(second, whole)


def test_a_file_keeps_labels_of_text_numbers_and_tuples(tmp_path: Path) -> None:
    states = [("a", 1, None), "x", 2.5, True, (("nested",), 3)]
    agent = ht.make_online(states=states, actions=["l", "r"], seed=0)
    agent.save(tmp_path / "agent.npz")
    loaded = ht.OnlineAgent.load(tmp_path / "agent.npz")
    assert list(loaded.states) == states
    assert loaded.act(("a", 1, None)) in ("l", "r")
    odd = ht.make_online(states=[frozenset([1]), 2], actions=2)
    with pytest.raises(InputError, match=r"the label frozenset.*cannot be saved; labels in a file are text"):
        odd.save(tmp_path / "odd.npz")


def test_each_kind_of_file_says_what_reads_it(tmp_path: Path) -> None:
    _make().save(tmp_path / "stepwise.npz")
    ht.make_agent(ht.make_mdp("six_arms"), "random", seed=0).save(tmp_path / "learner.npz")
    with pytest.raises(InputError, match="holds an agent for your own loop"):
        ht.Learner.load(tmp_path / "stepwise.npz")
    with pytest.raises(InputError, match=r"is a learner's file; read it with ht\.load"):
        ht.OnlineAgent.load(tmp_path / "learner.npz")


@pytest.mark.parametrize("clone", [copy.deepcopy, send])
def test_a_copy_learns_by_itself(clone: Any) -> None:
    agent = _make("heavy_psrl", states=["a", "b", "c"])
    agent.update("a", agent.act("a"), 1.0, "b")
    twin = clone(agent)
    _same(agent, twin)
    twin.update("b", twin.act("b"), 1.0, "c")
    assert (agent.updates, twin.updates) == (1, 2)


def test_pools_grow_unnoticed() -> None:
    agent = ht.make_online(50, 4, seed=0)
    before = agent.agent.model.successor.size
    _drive(agent, 3000, seed=0)
    assert agent.agent.model.successor.size > before
    assert agent.updates == agent.agent.model.visits.sum() == 3000


def test_threads_may_share_one(tmp_path: Path) -> None:
    """While its pools grow and it is saved: no update is lost, and every file can be read."""
    agent = ht.make_online(50, 4, seed=0).warm_up()

    def drive(seed: int) -> None:
        _drive(agent, 2000, seed)

    threads = [threading.Thread(target=drive, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        agent.save(tmp_path / "agent.npz")
        ht.OnlineAgent.load(tmp_path / "agent.npz")
    assert agent.updates == 8000


def test_counters_are_a_dictionary() -> None:
    agent = ht.make_online(3, 2, seed=0)
    _drive(agent, 30, seed=0)
    assert agent.counters["phases"] > 1.0
    assert set(agent.counters) == {"phases", "uniformity", "skewed_cells", "certain_cells", "successor_rate"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"states": "psrl"}, "states is 'psrl'; it must be their number"),
        ({"states": gymnasium.make("FrozenLake-v1")}, "states is <.*; it must be .* a discrete space"),
        ({"horizon": 0}, "horizon is 0; it must be a whole number, at least 1"),
        ({"name": "q_learning"}, "learns in episodes.* give it a horizon="),
        ({"name": "psrl", "delta": 2}, "psrl.*delta"),
        ({"name": 3}, "must be a string, got 3"),
    ],
)
def test_what_cannot_be_made_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ht.make_online(**{"states": 3, "actions": 2, **given})
    assert "\n" not in str(caught.value)


def test_mistakes_in_a_call_are_one_line_and_change_nothing() -> None:
    agent = ht.make_online(states=["a", "b"], actions=["l", "r"], seed=0)
    agent.act("a")
    before = copy.deepcopy(agent)
    odd: list[Any] = [Decimal("sNaN"), np.timedelta64(5, "s"), "no", np.ones(2)]
    signals, span, no, two = odd
    for call, message in (
        (lambda: agent.act("c"), "there is no state 'c'; states are 'a', 'b'"),
        (lambda: agent.act([]), r"there is no state \[\]"),
        (lambda: agent.predict("c"), "there is no state 'c'"),
        (lambda: agent.begin(0), "there is no state 0"),
        (lambda: agent.act("a", 1), "there is no step 1; steps are whole numbers from 0 to 0"),
        (lambda: agent.act("a", -1), "there is no step -1"),
        (lambda: agent.update("a", "x", 1.0, "b"), "there is no action 'x'; actions are 'l', 'r'"),
        (lambda: agent.update("a", [], 1.0, "b"), r"there is no action \[\]"),  # type: ignore[arg-type]
        (lambda: agent.update("a", "l", signals, "b"), "a reward must be a number"),
        (lambda: agent.update("a", "l", span, "b"), "a reward must be a number"),
        (lambda: agent.update("a", "l", 1.0, "b", terminated=no), "^terminated must be True or False, got"),
        (lambda: agent.update("a", "l", 1.0, "b", truncated=two), "^truncated must be True or False, got"),
        (lambda: agent.update("a", "l", "1.0", "b"), "a reward must be a number, got '1.0'"),  # type: ignore[arg-type]
        (lambda: agent.update("a", "l", float("nan"), "b"), "the reward of step 0 .in state 'a'. is nan"),
        (lambda: agent.update("a", "l", 10**400, "b"), "is too large; for infinity use inf"),
        (lambda: agent.update("a", "l", np.nan, "b"), "is nan; rewards may be infinite"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    _same(agent, before)
    agent.update("a", "l", float("inf"), "b")
    agent.update("b", "l", -(10**400 // 10**300), "b")
    assert agent.updates == 2


def test_plain_python_does_the_same(tmp_path: Path) -> None:
    script = """
    import numpy as np, heavytail as ht
    agent = ht.make_online(3, 2, "ucbvi", seed=1, horizon=4)
    rng, s = np.random.default_rng(0), 0
    for _ in range(80):
        a, s_next = agent.act(s), int(rng.integers(3))
        agent.update(s, a, float(rng.standard_t(1.5)), s_next)
        s = s_next
    print(agent.agent.q.tobytes().hex(), agent.updates)
    """
    compiled, plain = (python(script, folder=tmp_path, NUMBA_DISABLE_JIT=mode) for mode in ("0", "1"))
    assert compiled == plain


# Saving while it works


def test_it_is_saved_every_so_many_updates(tmp_path: Path) -> None:
    agent, path = _make(), tmp_path / "agent.npz"
    agent.autosave(path, updates=10)
    _drive(agent, 9, seed=0)
    assert not path.exists()
    _drive(agent, 16, seed=0)
    assert ht.OnlineAgent.load(path).updates == 20


def test_it_is_saved_every_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a microsecond per update, and after a burst by a second."""
    now, saved = [0.0], []
    monkeypatch.setattr("heavytail.serving.session_file.time.monotonic", lambda: now[0])
    autosave, due, looks = Autosave("a.npz", None, 60.0, 0), 1, 0
    for updates in range(1, 101_001):
        now[0] += 1e-6 if updates <= 100_000 else 1.0
        if updates >= due:
            looks += 1
            due = autosave.next_due(updates, lambda path: saved.append(now[0]))
    assert len(saved) >= 14
    assert np.diff([0.0, *saved]).max() <= 60 + 16
    assert looks < 8000


def test_one_that_is_saved_elsewhere_from_now_on_has_one_handler_at_exit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, handlers = _make(), set[Any]()
    monkeypatch.setattr("heavytail.serving.session_file.atexit.register", handlers.add)
    monkeypatch.setattr("heavytail.serving.session_file.atexit.unregister", handlers.remove)
    for i in range(5):
        agent.autosave(tmp_path / f"{i}.npz", updates=10)
    assert len(handlers) == 1
    del agent
    gc.collect()
    assert not handlers


def test_a_process_that_ends_or_dies_leaves_what_it_had_saved(tmp_path: Path) -> None:
    script = """
    import os, heavytail as ht
    agent = ht.make_online(3, 2, "q_learning", seed=0, horizon=4)
    agent.autosave("{name}.npz", updates=10)
    for _ in range(25):
        agent.update(0, agent.act(0), 1.0, 1)
    {end}
    """
    python(script.format(name="ends", end=""), folder=tmp_path)
    python(script.format(name="dies", end="os._exit(0)"), folder=tmp_path)
    assert ht.OnlineAgent.load(tmp_path / "ends.npz").updates == 25
    assert ht.OnlineAgent.load(tmp_path / "dies.npz").updates == 20


def test_a_save_that_fails_is_said_and_nothing_learnt_is_lost(tmp_path: Path) -> None:
    agent, folder = _make(), tmp_path / "removed"
    with pytest.raises(InputError, match=r"autosave: there is no folder .*removed"):
        agent.autosave(folder / "agent.npz", updates=2)
    folder.mkdir()
    agent.autosave(folder / "agent.npz", updates=2)
    folder.rmdir()
    agent.update(0, 0, 1.0, 1)
    with pytest.raises(InputError, match="cannot be written"):
        agent.update(0, 0, 1.0, 1)
    agent.update(0, 0, 1.0, 1)
    assert agent.updates == 3
    agent.autosave(tmp_path / "agent.npz", updates=1)  # or it would be tried again at the end


def test_when_to_save_is_said_once() -> None:
    for given in ({}, {"updates": 1, "seconds": 1.0}):
        with pytest.raises(InputError, match="autosave: give either updates= or seconds="):
            _make().autosave("a.npz", **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="autosave: updates"):
        _make().autosave("a.npz", updates=0)
