"""What can happen to a study while it runs, and to its folder.

Nothing is lost, and the end is always the same files.
"""

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import textwrap
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from heavytail.cli import app
from heavytail.errors import InputError
from heavytail.studies import Study, plan
from heavytail.studies.store import Store
from support.processes import PATIENCE, python, run, running, signal_group
from support.small_studies import Files, Notes, done, files, finished, small, to_frame

KILLS = 6
RUNS = """
import json, sys
from heavytail.studies import Study, plan

def say(event):
    if event["event"] in ("stage", "part"):
        print(event.get("id", "stage"), flush=True)

plan.STEPS_PER_PART = 1  # a part is a run
Study(json.loads(sys.argv[1]), sys.argv[2]).run(workers=2, listener=say)
"""


def many() -> dict[str, Any]:
    """Forty parts, a second or so of work."""
    return small(episodes=5_000, seeds=10, agents={"random": {}, "q_learning": {}})


def long_and_short(**changes: Any) -> dict[str, Any]:
    """One part that takes many minutes, and one that is done at once."""
    agents = {"random": {"envs": ["six_arms"]}, "q_learning": {"envs": ["double_chain"]}}
    return small(
        agents=agents, envs={"six_arms": {"episodes": 10**9}, "double_chain": {}}, seeds=1, **changes
    )


@pytest.fixture
def one_run_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)


@pytest.fixture(scope="module")
def many_whole(tmp_path_factory: pytest.TempPathFactory) -> Files:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "STEPS_PER_PART", 1)
        return finished(many(), tmp_path_factory.mktemp("many"))


def running_study(
    raw: dict[str, Any], folder: Path, script: str = RUNS
) -> AbstractContextManager[subprocess.Popen[str]]:
    return running("-W", "error", "-c", script, json.dumps(raw), str(folder))


def line_of(child: "subprocess.Popen[str]") -> str:
    """The next line, byte by byte: `communicate` would lose what `readline` reads ahead."""
    assert child.stdout is not None
    line = bytearray()
    while (byte := os.read(child.stdout.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def no_worker_is_left() -> bool:
    """Tell whether all are gone; a thread of the pool buries them too, and may be a moment behind."""
    return not multiprocessing.active_children()


def kept(raw: dict[str, Any], folder: Path) -> set[str]:
    """The parts that count."""
    (stage,) = Study(raw, folder).stages()
    return {part.id for part in stage.parts} - {part.id for part in stage.missing}


# Killed


@pytest.mark.usefixtures("one_run_a_part")
def test_killed_at_random_moments_it_ends_with_the_files_of_an_undisturbed_run(
    many_whole: Files, tmp_path: Path
) -> None:
    """Every other kill falls into the work itself, soon after a part.

    The others anywhere, start-up included.
    """
    chance = random.Random(5)  # noqa: S311 - nothing secret
    folder, kills, steps = tmp_path / "0", 0, 0
    while kills < KILLS:
        before = kept(many(), folder) if folder.exists() else set()
        with running_study(many(), folder) as child:
            said = set()
            if kills % 2:
                said = {line for line in (line_of(child), line_of(child)) if line != "stage"}
            try:
                child.wait(chance.uniform(0.0, 0.4 if kills % 2 else 3.0))
            except subprocess.TimeoutExpired:
                kills += 1
            signal_group(child, signal.SIGKILL)
        if folder.exists() and (folder / "study.json").exists():
            after = kept(many(), folder)
            assert before | said <= after
            steps += len(after - before)
            if len(after) == 40:  # it came to its end before it was killed
                assert child.returncode == -signal.SIGKILL or files(folder) == many_whole
                folder = tmp_path / str(int(folder.name) + 1)
    assert steps >= KILLS // 2
    for each in tmp_path.iterdir():
        notes = Notes()
        Study(many(), each).run("inline", listener=notes)
        assert files(each) == many_whole
        assert len(to_frame(each)) == 40 * 10
        assert not notes.damaged


KILLS_ITSELF = """
import json, os, pathlib, signal, sys
from heavytail.studies import Study, plan

plan.STEPS_PER_PART = 1
raw = json.loads(sys.argv[1])
Study(raw, sys.argv[2] + "/warm").run("inline")  # so that all is imported

def dies_at(n, folder):
    seen = 0
    def counting(function):
        def instead(*args):
            nonlocal seen
            if seen == n:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
            return function(*args)
        return instead
    os.fsync, pathlib.Path.replace = counting(os.fsync), counting(pathlib.Path.replace)
    Study(raw, folder).run("inline")

for n in range(14):
    if not (pid := os.fork()):
        dies_at(n, f"{sys.argv[2]}/{n}")
        os._exit(0)
    print(n, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.usefixtures("one_run_a_part")
def test_killed_at_each_step_of_writing_it_ends_with_the_same_files(tmp_path: Path) -> None:
    """Before each sync and each renaming of the first files.

    The study's page, then parts and their sidecars.
    """
    raw = small(agents={"random": {}})
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = run("-c", KILLS_ITSELF, json.dumps(raw), str(tmp_path), env=plain)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [f"{n} {-signal.SIGKILL}" for n in range(14)]
    whole = finished(raw, tmp_path / "whole")
    for n in range(14):
        folder = tmp_path / str(n)
        left = [path for path in folder.rglob("*") if path.name.endswith(".unfinished")]
        assert len(left) == 1
        if n >= 2:
            assert len(kept(raw, folder)) == (n - 2) // 4
        Study(raw, folder).run("inline")
        assert files(folder) == whole


def test_workers_end_with_the_study_that_was_killed(tmp_path: Path) -> None:
    """Only the process that the user knows of is killed, by a batch system or for lack of memory."""
    script = "import multiprocessing" + RUNS.replace('in ("stage", "part")', '== "part"').replace(
        'print(event.get("id", "stage"), flush=True)',
        "print(*(p.pid for p in multiprocessing.active_children()), flush=True)",
    )
    with running_study(long_and_short(), tmp_path, script) as child:
        workers = [int(pid) for pid in line_of(child).split()]
        assert len(workers) == 2
        assert all(map(alive, workers))
        child.kill()
        assert eventually(lambda: not any(map(alive, workers)))


class KillsAWorker:
    """Kills the first worker after the first part, when all are alive, and sees it dead before it goes on."""

    killed = False

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "part" and not self.killed:
            self.killed = True
            worker = multiprocessing.active_children()[0]
            worker.kill()
            assert wait([worker.sentinel], PATIENCE)


@pytest.mark.usefixtures("one_run_a_part")
def test_what_a_killed_worker_was_doing_is_done_by_another(many_whole: Files, tmp_path: Path) -> None:
    killer = KillsAWorker()
    Study(many(), tmp_path).run("local", workers=2, listener=killer)
    assert killer.killed
    assert eventually(no_worker_is_left)
    assert files(tmp_path) == many_whole


KILLER = """
import multiprocessing, os, signal
from heavytail.registry import register
from fragile import Fragile

@register("agent", "killer")
def killer(problem, *, deadly: bool = False):
    '''It ends any process but the study's.'''
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return Fragile(0.0)
"""
KILLS_ALL = """
    import fragile, killer
    from heavytail.studies import Study, plan
    plan.STEPS_PER_PART = 1
    raw = {"name": "x", "episodes": 10, "seeds": 3, "envs": {"six_arms": {}}}
    study = Study({**raw, "agents": {"killer": {}, "random": {}}}, "out")
    try:
        study.run(workers=2)
    except ValueError as error:
        print(error)
    (stage,) = study.stages()
    print(*[part.agent for part in stage.missing])
"""


def test_parts_that_kill_all_their_workers_are_one_line_and_the_others_are_done(tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    (tmp_path / "killer.py").write_text(KILLER)
    message, missing = python(KILLS_ALL, folder=tmp_path, NUMBA_DISABLE_JIT="1").split("\n")
    assert message == (
        "workers died again and again over 3 of 6 parts, perhaps for lack of memory; all others are done and"
        " kept, continue with: heavytail resume"
    )
    assert missing == "killer killer killer"


# Interrupted


@pytest.mark.interrupt
@pytest.mark.usefixtures("one_run_a_part")
def test_ctrl_c_keeps_what_is_done_and_it_goes_on_from_there(many_whole: Files, tmp_path: Path) -> None:
    with running_study(many(), tmp_path) as child:
        said = {line_of(child) for _ in range(4)} - {"stage"}
        signal_group(child, signal.SIGINT)
        more, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1  # the script's own
    assert errors.strip().endswith("KeyboardInterrupt")
    said |= set(more.split())
    before = kept(many(), tmp_path)
    assert said <= before
    assert len(before - said) <= 1  # kept, and interrupted before it could be said
    assert 3 <= len(before) < 40
    assert not [name for name in files(tmp_path) if "unfinished" in name]
    Study(many(), tmp_path).run("inline")
    assert files(tmp_path) == many_whole


@pytest.mark.interrupt
@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0], ids=["while workers start", "a little later", "at work"])
def test_ctrl_c_does_not_wait_for_parts_under_way(seconds: float, tmp_path: Path) -> None:
    """Parts that would take many minutes; workers say nothing, whatever they were at."""
    with running_study(small(episodes=10**9, agents={"random": {}}), tmp_path) as child:
        assert line_of(child) == "stage"
        time.sleep(seconds)
        signal_group(child, signal.SIGINT)
        _, errors = child.communicate(timeout=PATIENCE)
        assert eventually(lambda: not group_exists(child.pid))
    assert child.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1
    assert errors.strip().endswith("KeyboardInterrupt")
    assert list(files(tmp_path)) == ["study.json"]


def group_exists(group: int) -> bool:
    """Whether any process of a group is left that is not just waiting to be buried."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and alive(int(entry.name)):
            try:
                if os.getpgid(int(entry.name)) == group:
                    return True
            except ProcessLookupError:
                continue
    return False


@pytest.mark.interrupt
def test_ctrl_c_inline_stops_within_a_run(tmp_path: Path) -> None:
    script = RUNS.replace("run(workers=2, ", "run('inline', ")
    with running_study(small(episodes=10**9, agents={"random": {}}), tmp_path, script) as child:
        assert line_of(child) == "stage"
        time.sleep(1.0)
        signal_group(child, signal.SIGINT)
        _, errors = child.communicate(timeout=PATIENCE)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert list(files(tmp_path)) == ["study.json"]


# Damaged


def flipped(content: bytes) -> bytes:
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


PART, SIDECAR = "parts/{}.parquet", "sidecars/{}.json"
DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes | None], str]] = {
    "truncated": (PART, lambda content: content[:-10], "altered"),
    "emptied": (PART, lambda content: b"", "altered"),
    "one bit": (PART, flipped, "altered"),
    "deleted": (PART, lambda content: None, "deleted"),
    "sidecar truncated": (SIDECAR, lambda content: content[:50], "unreadable (Unterminated string"),
    "sidecar no UTF-8": (SIDECAR, lambda content: b"\xff", "unreadable ('utf-8' codec can't decode"),
    "sidecar of another kind": (SIDECAR, lambda content: b"[]", "unreadable (list indices must be"),
    "sidecar without checksum": (SIDECAR, lambda content: b"{}", "unreadable ('sha256')"),
    "sidecar's checksum": (SIDECAR, lambda content: content.replace(b'256": "', b'256": "0'), "altered"),
    "sidecar nested": (SIDECAR, lambda content: b"[" * 100_000, "unreadable (maximum recursion depth"),
}


@pytest.mark.usefixtures("one_run_a_part")
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_part_is_named_and_done_again_and_the_others_stay(kind: str, tmp_path: Path) -> None:
    place, change, what = DAMAGE[kind]
    raw = small(agents={"random": {}})
    whole = finished(raw, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if path.is_file()}
    victim = Study(raw, tmp_path).cells()[1].parts[1].id
    path = tmp_path / place.format(victim)
    damaged = change(path.read_bytes())
    path.unlink() if damaged is None else path.write_bytes(damaged)
    with pytest.raises(
        InputError, match="5 of 6 parts of the evaluation are done; continue with: heavytail resume"
    ):
        Study(raw, tmp_path).curves()
    notes = Notes()
    Study(raw, tmp_path).run("inline", listener=notes)
    assert notes.parts == [victim]
    assert list(notes.damaged) == [victim]
    assert notes.damaged[victim].startswith(what)
    assert "\n" not in notes.damaged[victim]
    assert files(tmp_path) == whole
    same = {path for path, before in times.items() if path.stat().st_mtime_ns == before}
    assert {path.stem for path in set(times) - same} - {".lock"} == {victim}


@pytest.mark.parametrize(
    ("gone", "of_all_parts"),
    [(["parts", "sidecars"], False), (["sidecars"], True), (["parts", "sidecars"], True)],
)
def test_what_was_deleted_is_done_again(gone: list[str], of_all_parts: bool, tmp_path: Path) -> None:
    raw = small(agents={"random": {}})
    whole = finished(raw, tmp_path)
    first, victim = (cell.parts[0].id for cell in Study(raw, tmp_path).cells())
    for name in gone:
        for path in (tmp_path / name).iterdir():
            if of_all_parts or path.stem == victim:
                path.unlink()
    notes = Notes()
    Study(raw, tmp_path).run("inline", listener=notes)
    assert files(tmp_path) == whole
    assert notes.parts == ([first, victim] if of_all_parts else [victim])


def test_a_part_damaged_in_tuning_does_not_change_what_follows(tmp_path: Path) -> None:
    whole = finished(small(), tmp_path)
    study = Study(small(), tmp_path)
    (tmp_path / "parts" / f"{study.cells('tuning')[0].parts[0].id}.parquet").write_bytes(b"")
    notes = Notes()
    study.run("inline", listener=notes)
    assert [stage["missing"] for stage in notes.stages] == [1, 0]
    assert files(tmp_path) == whole


# A disk that is full, or not to be written


@pytest.mark.usefixtures("one_run_a_part")
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full from the n-th file on, for every n."""
    raw = small(agents={"random": {}})
    whole, sync, left = finished(raw, tmp_path / "whole"), os.fsync, 0

    def full_disk(handle: int) -> None:
        nonlocal left
        if left == 0:
            raise OSError(28, "No space left on device")
        left -= 1
        sync(handle)

    monkeypatch.setattr(os, "fsync", full_disk)
    for n in range(13):
        folder, left = tmp_path / str(n), n
        with pytest.raises(InputError) as caught:
            Study(raw, folder).run("inline")
        assert str(caught.value).startswith(str(folder))
        kept = f"what is done is kept; when it can be, continue with: heavytail resume {folder}"
        advice = kept if n else "nothing was begun; choose another folder with --out"
        assert str(caught.value).endswith(f"cannot be written: No space left on device; {advice}")
        found = files(folder)
        assert len(found) == n
        assert found.items() <= whole.items()
        left = 100
        notes = Notes()
        Study(raw, folder).run("inline", listener=notes)
        assert len(notes.parts) == 6 - max(0, n - 1) // 2
        assert files(folder) == whole


def test_a_limit_on_the_size_of_files_is_one_line(tmp_path: Path) -> None:
    """As real a failure to write as there is without a disk to fill: the kernel refuses.

    Not a byte of it stays.
    """
    script = f"""
    import resource, sys
    from heavytail.studies import Study
    sys.dont_write_bytecode = True  # Python would keep cut files of modules, and fail on them for ever
    study = Study({small(agents={"random": {}})!r}, "out")
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    try:
        study.run("inline")
    except ValueError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    import os
    print(*sorted(name for name in os.listdir("out")), *os.listdir("out/parts"))
    study.run("inline")
    """
    message, names = python(script, folder=tmp_path, NUMBA_DISABLE_JIT="1").split("\n")
    assert message.startswith("out/parts/")
    assert message.endswith(
        ".parquet cannot be written: File too large; what is done is kept; when it can be, continue with:"
        " heavytail resume out"
    )
    assert names == ".lock parts study.json"
    assert files(tmp_path / "out") == finished(small(agents={"random": {}}), tmp_path / "whole")


READ_ONLY = """
    import json, os, pathlib, sys, tempfile
    from heavytail.studies import Study
    raw = json.loads(RAW)
    with tempfile.TemporaryDirectory() as name:
        top = pathlib.Path(name)
        Study(raw, top / "done").run("inline")
        Study(raw, top / "half").run("inline")
        next((top / "half" / "parts").iterdir()).unlink()
        hidden = top / "hidden"
        hidden.mkdir()
        before = {p: p.stat().st_mtime_ns for p in top.rglob("*")}
        folders = [top, *(p for p in top.rglob("*") if p.is_dir())]
        for p in top.rglob("*"):
            p.chmod(0o444 if p.is_file() else 0o555)
        top.chmod(0o555)
        hidden.chmod(0)
        if os.geteuid() == 0:
            os.seteuid(65534)  # what is forbidden to anyone is not to root
        for folder in ("new", "half", "hidden"):
            try:
                Study(raw, top / folder).run("inline")
            except ValueError as error:
                print(str(error).replace(name, "TOP"))
        print(len(Study.open(top / "done").curves()))
        os.seteuid(os.getuid())
        for p in folders:
            p.chmod(0o755)
        print(before == {p: p.stat().st_mtime_ns for p in top.rglob("*")})
"""


def test_a_read_only_folder_is_one_line_and_can_still_be_read(tmp_path: Path) -> None:
    printed = python(
        READ_ONLY.replace("RAW", repr(json.dumps(small(agents={"random": {}})))),
        folder=tmp_path,
        NUMBA_DISABLE_JIT="1",
    )
    assert printed.split("\n") == [
        "TOP/new cannot be made: Permission denied; choose another folder with --out",
        "TOP/half cannot be written: Permission denied",
        "TOP/hidden cannot be read: Permission denied",
        "60",
        "True",
    ]


# Two at once


WAITS = """
import json, sys
from heavytail.studies import Study
from heavytail.studies.engines.inline import InlineEngine

class Waits(InlineEngine):
    def run(self, parts, resume_folder):
        for done in super().run(parts, resume_folder):
            print("ready", flush=True)
            sys.stdin.readline()
            yield done

Study(json.loads(sys.argv[1]), sys.argv[2]).run(Waits())
"""


@pytest.mark.parametrize("name", [".lock", "parts", "sidecars", "resume", "mdps", "report.html", "figures"])
def test_a_link_in_the_folder_of_others_is_not_followed(name: str, tmp_path: Path) -> None:
    mine, study = tmp_path / "mine", done(small(agents={"random": {}}), tmp_path / "x")
    if (link := tmp_path / "x" / name).is_dir():
        shutil.move(link, mine)
    elif name in (".lock", "report.html"):
        link.unlink(missing_ok=True)
        mine.write_text("a file of the user")
    else:
        mine.mkdir()
    link.symlink_to(mine)
    before = files(tmp_path)
    with pytest.raises(InputError, match=f"x/{name} is a link"):
        study.report() if name in ("report.html", "figures") else study.run("inline")
    assert files(tmp_path) == before
    assert not mine.is_file() or mine.read_text() == "a file of the user"


@pytest.mark.parametrize("place", [PART, SIDECAR])
def test_a_part_that_is_a_link_to_a_device_is_done_again(place: str, tmp_path: Path) -> None:
    """A device may have no end, as /dev/zero; this one ends at once."""
    raw = small(agents={"random": {}})
    whole, part = finished(raw, tmp_path), Study(raw, tmp_path).cells()[0].parts[0].id
    path = tmp_path / place.format(part)
    path.unlink()
    path.symlink_to("/dev/null")
    notes = Notes()
    Study.open(tmp_path).run("inline", listener=notes)
    assert "it is not a plain file" in notes.damaged[part]
    assert files(tmp_path) == whole


def test_a_first_page_that_is_a_link_to_a_device_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "study.json").symlink_to("/dev/null")
    with pytest.raises(InputError, match=r"study\.json cannot be read: it is not a plain file"):
        Study.open(tmp_path)


@pytest.mark.parametrize("name", ["parts", "sidecars", "resume", "mdps"])
def test_a_file_in_the_place_of_a_folder_is_one_line(name: str, tmp_path: Path) -> None:
    raw = small(agents={"random": {}})
    study = Study(raw, tmp_path)
    study.run("inline")
    shutil.rmtree(tmp_path / name, ignore_errors=True)
    (tmp_path / name).write_text("")
    with pytest.raises(InputError, match=f"{name} is not a folder; remove it"):
        Study(raw, tmp_path).run("inline")


def test_a_second_process_is_told_of_the_first_and_changes_nothing(tmp_path: Path) -> None:
    raw = small(agents={"random": {}})
    with running("-c", WAITS, json.dumps(raw), str(tmp_path / "x"), stdin=subprocess.PIPE) as child:
        assert line_of(child) == "ready"
        for spec in (raw, small(agents={"optimal": {}})):
            before = files(tmp_path / "x")
            with pytest.raises(InputError) as caught:
                Study(spec, tmp_path / "x").run("inline")
            assert "\n" not in str(caught.value)
            if spec == raw:
                said = (
                    f"another process (pid {child.pid} on {os.uname().nodename}) is working on"
                    f" {tmp_path / 'x'}; wait for it, or stop it"
                )
                assert str(caught.value) == said
            assert files(tmp_path / "x") == before
        child.communicate("\n\n", timeout=PATIENCE)
        assert child.returncode == 0
    assert files(tmp_path / "x") == finished(raw, tmp_path / "whole")
    Study(raw, tmp_path / "x").run("inline")  # and nobody is told of a process that is gone


def test_a_second_process_that_starts_at_the_same_moment_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked when there was no study yet, and another one was started before it could."""
    whole = finished(small(agents={"random": {}}), tmp_path)
    answers = [False]
    monkeypatch.setattr(Store, "exists", lambda self: answers.pop() if answers else True)
    with pytest.raises(InputError) as caught:
        Study(small(agents={"optimal": {}}), tmp_path).run("inline")
    assert str(caught.value) == f"another process has just started a study in {tmp_path}; nothing was changed"
    assert files(tmp_path) == whole


# Runs that raise

FRAGILE = """
from typing import NamedTuple
from heavytail.registry import register
from heavytail.kernels.rng import uniform
from heavytail.kernels.verbs import act, reset, update

class Fragile(NamedTuple):
    odds: float

@register("agent", "fragile")
def fragile(problem, *, odds: float = 0.0):
    '''Now and then it chooses an action that is not there.'''
    return Fragile(odds)

@act.method(Fragile)
def _act(agent, s, h, rng):
    return 99 if uniform(rng) < agent.odds else 0

@update.method(Fragile)
def _update(agent, s, a, r, s_next, h, terminated, rng):
    pass

@reset.method(Fragile)
def _reset(record):
    pass
"""
RAISES = """
    import fragile, json
    from heavytail.studies import Study
    agents = {"random": {}, "fragile": {"parameters": {"odds": 0.004}}}
    agents["tuned"] = {"agent": "fragile", "grid": {"odds": [1.0, 0.02, 0.0]}}
    raw = {"name": "x", "episodes": 10, "seeds": 8, "envs": {"six_arms": {}}, "tuning": {"share": 1.0}}
    study = Study({**raw, "agents": agents}, "out")
    study.run(workers=2)
    study.run("inline")
    failed, curves = study.failures(), study.curves()
    print(json.dumps({
        "failed": failed[["agent_key", "replicate", "phase", "error"]].values.tolist(),
        "rows": curves[curves["error"].isna()].groupby("agent_key").size().to_dict(),
        "choices": study.choices(),
        "nulls": bool(failed[["mean_reward", "realised_reward", "regret"]].isna().all(axis=None)),
        "whole": bool(curves[curves["error"].isna()][["mean_reward", "regret"]].notna().all(axis=None)),
    }))
"""


def test_a_run_that_raises_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    found = json.loads(python(RAISES, folder=tmp_path, NUMBA_DISABLE_JIT="1"))
    evaluation = [row for row in found["failed"] if row[2] == "evaluation"]
    assert {row[0] for row in evaluation} == {"fragile"}
    assert 1 <= len(evaluation) <= 7
    assert all(
        row[3].startswith("InputError: at step ") and row[3].endswith("`act` must return 0 to A - 1")
        for row in found["failed"]
    )
    assert found["rows"] == {"random": 80, "tuned": 80, "fragile": 10 * (8 - len(evaluation))}
    assert found["nulls"]
    assert found["whole"]
    assert found["choices"] == {
        "tuned": {"six_arms": {"odds": found["choices"]["tuned"]["six_arms"]["odds"]}}
    }
    assert found["choices"]["tuned"]["six_arms"]["odds"] != 1.0  # all of its runs failed


ELSEWHERE = """
import multiprocessing
import heavytail as ht
from heavytail.registry import register

@register("env", "at_home")
def at_home():
    '''It can be built where the study is, and in no worker.'''
    if multiprocessing.parent_process() is not None:
        raise OSError("its file is not here")
    return ht.mdp_from_arrays([[[1.0], [1.0]]], [[0.0, 1.0]], horizon=1)
"""
IN_WORKERS = """
    import elsewhere
    from heavytail.studies import Study
    envs, agents = {"at_home": {}, "six_arms": {}}, {"random": {}}
    study = Study({"name": "x", "episodes": 10, "seeds": 3, "envs": envs, "agents": agents}, "out")
    study.run(workers=2)
    for key, rows in study.curves().groupby("env_key"):
        print(key, len(rows), set(rows["error"].dropna()))
"""


def test_an_environment_that_no_worker_can_build_is_an_error_of_its_runs_only(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    assert python(IN_WORKERS, folder=tmp_path, NUMBA_DISABLE_JIT="1").split("\n") == [
        "at_home 3 {'OSError: its file is not here'}",
        "six_arms 30 set()",
    ]


@pytest.mark.usefixtures("one_run_a_part")
def test_an_environment_without_an_optimum_is_an_error_of_its_runs_only(tmp_path: Path) -> None:
    """Two states that are so nearly cut off from each other that planning gives up.

    That is no reason to lose the others.
    """
    hard = {"env": "two_state", "parameters": {"delta": 1e-300, "gap": 1e-300}, "steps": 20}
    raw = small(seeds=2, envs={"hard": hard, "six_arms": {}}, agents={"random": {}})
    study = Study(raw, tmp_path)
    study.run("inline")
    failed = study.failures()
    assert set(failed["env_key"]) == {"hard"}
    assert len(failed) == 2
    assert failed["error"].str.startswith("ArithmeticError: ").all()
    assert len(study.curves()) == 2 + 2 * 10


@pytest.mark.parametrize(("envs", "status"), [(["hard"], 1), (["hard", "six_arms"], 0)])
def test_a_study_in_which_nothing_worked_ends_with_another_status(
    envs: list[str], status: int, tmp_path: Path
) -> None:
    hard = "\n[envs.hard]\nenv = 'two_state'\nsteps = 20\nparameters = {delta = 1e-300, gap = 1e-300}\n"
    tables = {"hard": hard, "six_arms": "\n[envs.six_arms]\n"}
    begin = "name = 'x'\nepisodes = 10\nseeds = 2\n[agents.random]\n"
    (tmp_path / "spec.toml").write_text(begin + "".join(tables[env] for env in envs))
    command = ["run", tmp_path / "spec.toml", "--out", tmp_path / "x", "--engine", "inline", "--no-report"]
    ended = CliRunner().invoke(app, list(map(str, command)))
    assert ended.exit_code == status
    assert "2 runs failed; see: heavytail status" in ended.stderr
    shown = CliRunner().invoke(app, ["status", str(tmp_path / "x")]).stdout
    assert "failed: random on hard, seed 1: ArithmeticError" in shown


# Another study


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"episodes": 61}, "episodes was 60 and is 61"),
        ({"seeds": 4}, "seeds was 3 and is 4"),
        ({"agents": {"random": {}, "optimal": {}}}, "agents.optimal was not there and is {"),
        (
            {"envs": {"six_arms": {"parameters": {"horizon": 5}}}},
            "envs.six_arms.parameters.horizon was not there and is 5; envs.double_chain was {",
        ),
        (
            {"steps": 5, "seed": 1, "seeds": 1, "spacing": "log"},
            "steps was not there and is 5; seeds was 3 and is 1; seed was 0 and is 1 and more",
        ),
    ],
)
def test_a_changed_spec_says_what_differs_and_starts_nothing(
    change: dict[str, Any], what: str, tmp_path: Path
) -> None:
    raw = small(agents={"random": {}})
    Study(raw, tmp_path).run("inline")
    (tmp_path / "parts" / f"{Study(raw, tmp_path).cells()[0].parts[0].id}.parquet").unlink()
    before, notes = files(tmp_path), Notes()
    with pytest.raises(InputError) as caught:
        Study({**raw, **change}, tmp_path).run("inline", listener=notes)
    assert str(caught.value).startswith(f"{tmp_path} holds another study: {what}")
    assert str(caught.value).endswith(
        f"Nothing was started; choose another folder with --out (--reuse {tmp_path} takes over what it has),"
        f" or continue the old one with: heavytail resume {tmp_path}"
    )
    assert "\n" not in str(caught.value)
    assert not notes.stages
    assert files(tmp_path) == before


def test_the_same_spec_in_other_words_is_no_other_study(tmp_path: Path) -> None:
    Study(small(agents={"random": {}}), tmp_path).run("inline")
    notes = Notes()
    Study(
        small(agents={"random": {"agent": "random", "parameters": {}}}, spacing="even", seed=0), tmp_path
    ).run("inline", listener=notes)
    assert notes.parts == []


def test_a_mistake_on_the_way_stops_the_workers(tmp_path: Path) -> None:
    """A listener that raises, as any line of a user's may: the study ends, and no worker goes on."""

    def raises(event: dict[str, Any]) -> None:
        if event["event"] == "part":
            raise LookupError(textwrap.shorten(event["id"], 5))

    with pytest.raises(LookupError) as caught:
        Study(long_and_short(), tmp_path).run("local", workers=2, listener=raises)
    assert eventually(no_worker_is_left), caught
