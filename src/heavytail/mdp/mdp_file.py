"""MDP files: one ``.npz`` with the arrays of an MDP, of one that changes, or of one from a log.

No pickle is written or read, and arrays are checked when read: compiled code trusts them. The digest of an
MDP is that of its arrays, so it is the same in every process and on every machine; labels are not part of it.
"""

import io
import json
import os
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np

from heavytail.agent_file import FORMAT, METADATA
from heavytail.errors import InputError, one_line
from heavytail.files import Arrays, pack_arrays, read_arrays, unpack_arrays, write_arrays
from heavytail.laws.table import LawTable
from heavytail.mdp.changing import ChangingMDP, changing_mdp
from heavytail.mdp.from_log import LoggedMDP
from heavytail.mdp.labels import label_from_json, label_to_json
from heavytail.mdp.mdp import MDP
from heavytail.mdp.validation import check_mdp
from heavytail.registry import registered

KIND = "mdp"  # in the metadata: files of agents have none
SIZES = ("n_states", "n_actions", "n_stages", "horizon")

AnyMDP: TypeAlias = MDP | ChangingMDP | LoggedMDP


def save_mdp(mdp: AnyMDP, path: str | os.PathLike[str]) -> None:
    """Write an MDP to a file; on failure the old file stays."""
    write_arrays(path, _all_arrays(mdp))


def load_mdp(path: str | os.PathLike[str]) -> AnyMDP:
    """Read a file written by `save_mdp`."""
    return _restore(read_arrays(path, "MDP file"), os.fspath(path))


def mdp_to_bytes(mdp: AnyMDP) -> bytes:
    """Return an MDP as the content of its file."""
    out = io.BytesIO()
    pack_arrays(out, _all_arrays(mdp))
    return out.getvalue()


def mdp_from_bytes(content: bytes, where: str) -> AnyMDP:
    """Read an MDP from the content of a file; errors name `where` it came from."""
    try:
        arrays = unpack_arrays(io.BytesIO(content))
    except Exception as error:
        raise InputError(f"{where} is not an MDP file, or is damaged: {one_line(error)}") from error
    return _restore(arrays, where)


def _all_arrays(mdp: AnyMDP) -> Arrays:
    changing = as_changing(mdp)
    metadata: dict[str, Any] = {"kind": KIND, "format": FORMAT, "at": changing.at}
    arrays = _changing_to_arrays(changing)
    if isinstance(mdp, LoggedMDP):
        labels = {"states": mdp.states, "actions": mdp.actions}
        metadata |= {name: [label_to_json(label, str) for label in each] for name, each in labels.items()}
        arrays |= {"counts": mdp.counts, "filled": mdp.filled}
    return {METADATA: np.frombuffer(json.dumps(metadata).encode(), np.uint8), **arrays}


def _restore(arrays: Arrays, where: str) -> AnyMDP:
    try:
        metadata = _read_metadata(arrays)
        registered("law")  # whose codes are checked
        each = range(len(metadata["at"]) + 1)
        changing = changing_mdp([check_mdp(_from_arrays(arrays, f"mdp{i}/")) for i in each], metadata["at"])
        if "states" in metadata:
            return _restore_logged(changing.mdps[0], metadata, arrays)
    except Exception as error:  # any check may fail on numbers from a file
        raise InputError(f"{where} cannot be used: {one_line(error)}") from error
    return changing if changing.at else changing.mdps[0]


def _read_metadata(arrays: Arrays) -> dict[str, Any]:
    metadata = json.loads(arrays[METADATA].tobytes()) if METADATA in arrays else None
    if not isinstance(metadata, dict) or metadata.get("kind") != KIND or metadata.get("format") != FORMAT:
        raise InputError(f"it is not an MDP file of format {FORMAT}; write one with mdp.save(path)")
    return metadata


def as_changing(mdp: Any) -> ChangingMDP:
    """Return an MDP of any kind as one that may change."""
    match mdp:
        case ChangingMDP():
            return mdp
        case LoggedMDP():
            return changing_mdp([mdp.mdp], [])
        case MDP():
            return changing_mdp([mdp], [])
    raise InputError(f"this is a {type(mdp).__name__}; it must be an MDP, such as make_mdp('six_arms')")


def digest_mdp(mdp: AnyMDP) -> str:
    """Return a digest of everything in an MDP on which runs depend.

    >>> import heavytail as ht
    >>> digest_mdp(ht.make_mdp("two_state")) == digest_mdp(ht.make_mdp("two_state"))
    True
    """
    changing, digest = as_changing(mdp), sha256()
    digest.update(json.dumps(changing.at).encode())
    for name, array in sorted(_changing_to_arrays(changing).items()):
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data if array.ndim else array.tobytes())
    return digest.hexdigest()[:20]


# Arrays


def _changing_to_arrays(changing: ChangingMDP) -> Arrays:
    """Collect the arrays of all MDPs, each under its path."""
    if changing.recorded:
        raise InputError(
            "runs of this MDP record gaps, which follow from the MDP itself: give the original, and"
            ' regret = "gaps" to a study'
        )
    return {f"mdp{i}/{name}": a for i, mdp in enumerate(changing.mdps) for name, a in _to_arrays(mdp).items()}


def _to_arrays(mdp: MDP) -> Arrays:
    own = {name: np.asarray(value) for name, value in mdp._asdict().items() if name != "laws"}
    return own | {f"laws/{name}": array for name, array in mdp.laws._asdict().items()}


def _from_arrays(arrays: Arrays, prefix: str) -> MDP:
    laws = LawTable(**{name: arrays[f"{prefix}laws/{name}"] for name in LawTable._fields})
    own: dict[str, Any] = {name: arrays[f"{prefix}{name}"] for name in MDP._fields if name != "laws"}
    if not all(own[name].dtype == np.int64 and own[name].ndim == 0 for name in SIZES):
        raise InputError("its sizes are not whole numbers")
    return MDP(**{**own, **{name: int(own[name]) for name in SIZES}}, laws=laws)


def _restore_logged(mdp: MDP, metadata: dict[str, Any], arrays: Arrays) -> LoggedMDP:
    states, actions = (tuple(map(label_from_json, metadata[name])) for name in ("states", "actions"))
    counts, filled, shape = arrays["counts"], arrays["filled"], (mdp.n_states, mdp.n_actions)
    if (len(states), len(actions)) != shape or not counts.shape == filled.shape == shape:
        raise InputError("its labels and counts are not those of its MDP")
    if counts.dtype != np.int64 or filled.dtype != np.bool_:
        raise InputError("its counts are of another type")
    return LoggedMDP(mdp, states, actions, counts, filled)
