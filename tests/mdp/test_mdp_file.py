"""Files of MDPs: what is written is read again; what is no such file is one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import heavytail as ht
from heavytail.agent_file import METADATA
from heavytail.files import Arrays, read_arrays, write_arrays
from heavytail.mdp.mdp_file import AnyMDP, digest_mdp, load_mdp
from support.mdps import mixed, staged


def logged() -> ht.LoggedMDP:
    days = pd.to_datetime(["2026-01-02", "2026-01-01"])
    rows = {"s": days, "a": [("x", 1), ("x", 1)], "r": [1.0, 2.0], "t": days[::-1]}
    return ht.mdp_from_log(rows, state="s", action="a", reward="r", next_state="t")


def changing() -> ht.ChangingMDP:
    return ht.changing_mdp([ht.make_mdp("two_state", best=best) for best in (0, 1)], at=[7])


@pytest.mark.parametrize("make", [mixed, staged, logged, changing])
def test_what_is_written_is_read_again(make: Callable[[], AnyMDP], tmp_path: Path) -> None:
    mdp = make()
    mdp.save(tmp_path / "mdp.npz")
    again = load_mdp(tmp_path / "mdp.npz")
    assert type(again) is type(mdp)
    assert digest_mdp(again) == digest_mdp(mdp)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "mdp.npz").read_bytes()


def test_labels_are_kept_or_become_text(tmp_path: Path) -> None:
    logged().save(tmp_path / "mdp.npz")
    again = load_mdp(tmp_path / "mdp.npz")
    assert isinstance(again, ht.LoggedMDP)
    assert again.actions == (("x", 1),)
    assert again.states == ("2026-01-01 00:00:00", "2026-01-02 00:00:00")
    assert again.counts.tolist() == [[1], [1]]


def test_a_digest_sees_every_number() -> None:
    mdp = ht.make_mdp("two_state")
    means = mdp.row_means.copy()
    means[0] += 1.0
    others: list[AnyMDP] = [mdp._replace(row_means=means), mdp._replace(horizon=3), changing()]
    assert len({digest_mdp(each) for each in (mdp, *others)}) == 4


def altered(**changes: Any) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, **{f"mdp0/{name}": np.asarray(value) for name, value in changes.items()}}


def with_metadata(**changes: Any) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        metadata = {**json.loads(arrays[METADATA].tobytes()), **changes}
        return {**arrays, METADATA: np.frombuffer(json.dumps(metadata).encode(), np.uint8)}

    return change


@pytest.mark.parametrize(
    "change",
    [
        altered(successors=np.full(2, 99, np.uint32)),
        altered(n_states=1.5),
        altered(n_states=10**9),
        altered(offsets=np.zeros(0, np.uint32)),
        with_metadata(at=[1]),
        with_metadata(at=3),
        with_metadata(kind="agent"),
        with_metadata(format=99),
        with_metadata(states=["only one"]),
        with_metadata(states=3),
        lambda arrays: {name: arrays[name] for name in arrays if name != "mdp0/ends"},
        lambda arrays: {name: arrays[name] for name in arrays if name != METADATA},
        lambda arrays: {**arrays, "counts": np.zeros((2, 1))},
        lambda arrays: {**arrays, METADATA: np.frombuffer(b"[1", np.uint8)},
    ],
)
def test_altered_files_are_one_line(change: Callable[[Arrays], Arrays], tmp_path: Path) -> None:
    path = tmp_path / "mdp.npz"
    logged().save(path)
    write_arrays(path, change(read_arrays(path, "MDP file")))
    with pytest.raises(ht.InputError, match=r"mdp\.npz cannot be used: ") as caught:
        load_mdp(path)
    assert "\n" not in str(caught.value)


def test_other_things_are_no_mdps(tmp_path: Path) -> None:
    ht.make_agent(ht.make_mdp("six_arms"), "random", seed=0).save(tmp_path / "agent.npz")
    with pytest.raises(ht.InputError, match="not an MDP file of format"):
        load_mdp(tmp_path / "agent.npz")
