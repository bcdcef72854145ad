"""Hostile agent files: loading gives one line, or a learner that stays inside its memory."""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavytail as ht
from heavytail import registry
from heavytail.agent_file import FORMAT, METADATA, read_agent_file
from heavytail.arrays import Floats, Ints, Stream
from heavytail.errors import InputError
from heavytail.files import write_arrays
from heavytail.kernels.verbs import act, reset, update
from heavytail.registry import Registered
from support import mdps


class Keeper(NamedTuple):
    """A plugin's agent that says nothing of an array of whole numbers."""

    values: Floats
    best: Ints


@act.method(Keeper)
def _act(agent: Keeper, s: int, h: int, rng: Stream) -> int:
    return agent.best[0]


@update.method(Keeper)
def _update(
    agent: Keeper, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    agent.values[0] += r


@reset.method(Keeper)
def _reset(record: Keeper) -> None:
    record.values[:] = 0.0


def saved(path: Path, name: str, **parameters: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the file of an agent that has learnt a little, and return what is in it."""
    learner = ht.make_agent(mdps.mixed(), name, seed=0, **parameters)
    learner.learn(50)
    learner.save(path)
    metadata, arrays = read_agent_file(path)
    return {**metadata}, {**arrays}


def refused(path: Path, text: bytes | dict[str, Any], arrays: dict[str, Any]) -> str:
    """Write a file and return why it cannot be loaded."""
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    write_arrays(path, {METADATA: np.frombuffer(data, np.uint8), **arrays})
    with pytest.raises(InputError) as caught:
        ht.Learner.load(path)
    message = str(caught.value).removeprefix(str(path))
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("parameters", "delta", "its parameters must be a table of names and values, got 'delta'"),
        ("parameters", {"delta": 1e-400}, "delta must be above 0"),
        ("parameters", {"x" * 10**5: 1}, "has no parameter 'xxx"),
        ("parameters", {"r_max": 10**400}, "r_max must be finite"),
        ("parameters", {"delta": 0.1}, "agent/bonus/factor is .*, and differs from the value this agent"),
        ("problem", [4], "its problem must be a table of names and values, got .4."),
        ("problem", {"n_states": -3, "n_actions": 2, "horizon": 4, "r_max": 1.0}, "its n_states must be at"),
        (
            "problem",
            {"n_states": 3, "n_actions": 2, "horizon": 10**15, "r_max": 1.0},
            "6,000,000,000,000,000",
        ),
        (
            "problem",
            {"n_states": 3, "n_actions": 2, "horizon": 4, "r_max": "x"},
            "its r_max must be a number",
        ),
        ("problem", {}, "KeyError: 'n_states'"),
        ("agent", ["q_learning"], "the name of a agent must be a string"),
        ("agent", "x" * 10**5, "there is no agent 'xxx"),
        ("changes", 7, "TypeError"),
        ("changes", [1] * 1000, "mdp1/offsets is missing"),
        ("format", "x" * 10**5, "has format 'xxx"),
    ],
)
def test_metadata_that_does_not_fit_is_one_line(tmp_path: Path, key: str, value: Any, message: str) -> None:
    metadata, arrays = saved(tmp_path / "agent.npz", "q_learning")
    with_format = {**metadata, "format": FORMAT, key: value}
    assert re.search(message, refused(tmp_path / "bad.npz", with_format, arrays))


def test_metadata_that_is_nested_without_end_is_one_line(tmp_path: Path) -> None:
    _, arrays = saved(tmp_path / "agent.npz", "q_learning")
    assert "is damaged: its description" in refused(tmp_path / "bad.npz", b'{"x":' + b"[" * 10**5, arrays)


BAD_ARRAYS = [
    ("q_learning", "run_state/steps", [-5], "run_state/steps holds -5"),
    ("q_learning", "run_state/episodes_or_steps", [10**6], "steps were made in 1,000,000 episodes or steps"),
    ("q_learning", "run_state/in_episode", [2], "run_state/in_episode holds 2"),
    ("q_learning", "run_state/h", [9], "run state does not fit its environment"),
    ("q_learning", "run_state/totals", [np.nan, 0.0], "its sum of expected rewards is nan"),
    ("q_learning", "run_state/totals", [np.inf, 0.0], "its sum of expected rewards is inf"),
    (
        "q_learning",
        "streams/rewards",
        [0, 0, 0, 0],
        "does not fit together: a random stream is all",
    ),
    ("heavy_q_learning", "agent/truncated", -1, "agent/truncated holds -1"),
    ("q_learning", "agent/visits", -1, "agent/visits holds -1"),
    ("q_learning", "agent/horizon", 7.0, "agent/horizon is 7.0, and differs"),
    ("q_learning", "agent/cap", 9.0, "agent/cap differs"),
    ("random", "agent/n_actions", 5, "agent/n_actions is 5, and differs"),
    ("psrl", "agent/n_actions", 1, "agent/n_actions is 1, and differs"),
    ("psrl", "agent/weights", np.nan, "agent/weights holds nan"),
    ("optimal", "agent/policy", 2, "agent/policy differs"),
    ("ucrl2", "agent/policy", 2, "agent/policy holds 2; .* between 0 and 1"),
    ("ucrl2", "agent/model/n_states", 2, "agent/model/n_states is 2, and differs"),
    ("ucrl2", "agent/model/start", 0, "agent/model does not fit together: blocks overlap"),
    ("ucrl2", "agent/model/size", 4, "agent/model does not fit together"),
    ("ucrl2", "agent/model/successor", 9, "agent/model/successor holds 9"),
    ("ucrl2", "agent/model/successor", 0, "agent/model does not fit together: successors do not ascend"),
    ("ucrl2", "agent/model/max_capacity", 2**40, "agent/model/max_capacity holds 1099511627776"),
    ("ucrl2", "agent/model/max_capacity", 16, "the largest block is another"),
    ("ucrl2", "agent/model/pool_used", 1, "blocks overlap"),
    ("ucrl2", "agent/model/saw_terminal", 5, "agent/model/saw_terminal holds 5"),
    ("ucrl2", "agent/model/visits", 7, "visits and counts of successors differ"),
    ("heavy_psrl", "agent/elsewhere", 5, "agent/elsewhere holds 5"),  # 4 is a state never seen
    ("heavy_psrl", "agent/kinds", 3, "agent/kinds holds 3; .* between 0 and 2"),
    ("heavy_psrl", "agent/known", 1, "agent does not fit together: states seen"),
    ("heavy_psrl", "agent/certainty/shares", np.nan, "agent/certainty/shares holds nan"),
    ("heavy_psrl", "agent/sketch/histogram/block", 0, "blocks and cells do not match"),
    ("heavy_psrl", "agent/sketch/histogram/used", 99, "agent/sketch/histogram/used holds 99"),
    ("heavy_psrl", "agent/sketch/histogram/n", 2, "samples are held beyond their number"),
    ("heavy_psrl", "agent/sketch/histogram/held", np.nan, "agent/sketch/histogram/held holds nan"),
    ("heavy_psrl", "agent/sketch/summary", np.nan, "a summary is of other samples"),
    ("restarting", "agent/next_restart", 1.0, "a restart is overdue"),
    ("restarting", "agent/next_restart", np.nan, "a restart is overdue"),
    ("restarting", "agent/stage", 99, "the next restart is not on the schedule"),
]


@pytest.mark.parametrize(("agent", "name", "value", "message"), BAD_ARRAYS)
def test_values_that_do_not_fit_are_one_line(
    tmp_path: Path, agent: str, name: str, value: Any, message: str
) -> None:
    metadata, arrays = saved(tmp_path / "agent.npz", agent, **registry.find("agent", agent).example)
    arrays[name] = np.broadcast_to(np.asarray(value, arrays[name].dtype), arrays[name].shape)
    found = refused(tmp_path / "bad.npz", {**metadata, "format": FORMAT}, arrays)
    assert re.search(message, found)


@pytest.mark.parametrize("shape", [(0, 64), (4, 1), (4, 64, 1)])
def test_a_pool_is_as_wide_as_its_builder_makes_it_and_not_shorter(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    metadata, arrays = saved(tmp_path / "agent.npz", "heavy_psrl")
    for pool in ("summary", "tails", "common"):
        arrays[f"agent/sketch/{pool}"] = np.zeros(shape)
    assert "is expected" in refused(tmp_path / "bad.npz", {**metadata, "format": FORMAT}, arrays)


def test_a_plugins_agent_that_does_not_say_what_is_valid_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(problem: ht.Problem) -> Keeper:
        return Keeper(np.zeros(3), np.zeros(1, np.int64))

    monkeypatch.setitem(registry._table, ("agent", "keeper"), Registered("agent", "keeper", build, "", {}))
    metadata, arrays = saved(tmp_path / "agent.npz", "keeper")
    message = refused(tmp_path / "same.npz", {**metadata, "format": FORMAT}, arrays)
    assert "agent/best cannot be checked: Keeper does not declare its range" in message


def _terabytes() -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    return header.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "packing", "says", "message"),
    [
        (METADATA, bytes(10**7), zipfile.ZIP_DEFLATED, None, r"bytes would unpack to 10,000,000$"),
        ("q", bytes(10**7), zipfile.ZIP_DEFLATED, 100, "it is compressed"),
        ("q", _terabytes(), zipfile.ZIP_STORED, None, r"q\.npy is not as long as its header says"),
    ],
    ids=["bomb", "one that says it is small", "a header that asks for terabytes"],
)
def test_a_file_that_would_take_all_memory_is_not_unpacked(
    name: str, content: bytes, packing: int, says: int | None, message: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", packing) as archive:
        archive.writestr(f"{name}.npy", content)
        archive.filelist[0].file_size = says or archive.filelist[0].file_size
    with pytest.raises(InputError, match=message):
        ht.Learner.load(tmp_path / "bomb.npz")
