"""A live session: interpreted until it is compiled, and shared by threads.

Compiling takes seconds. If no machine code is cached on disk, a thread compiles it, and calls are interpreted
until it is done: plain Python gives the same results, in milliseconds. Compiled calls keep the GIL, so each
finishes before another begins; an interpreted call holds the lock, and finishes before Ctrl-C is handled.
"""

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from heavytail.errors import InputError
from heavytail.guards import deferred_interrupts
from heavytail.kernels.compiling import interpret, record_classes
from heavytail.kernels.packed import FLAG, INDEX, REAL, Packed
from heavytail.mdp.problem import Problem
from heavytail.serving.session import session_act, session_update

# The compiled functions, and the kinds of their arguments after the session
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "act": (session_act, INDEX, INDEX, INDEX),
    "update": (session_update, INDEX, INDEX, REAL, INDEX, INDEX, FLAG, FLAG),
}
MAX_CELLS = 2000  # steps times states times actions; planning for more takes plain Python too long

_compilers: dict[Any, threading.Thread] = {}  # by kind of record; one serves all agents of a kind
_starting = threading.Lock()


def _compile_aside(packed: Packed) -> threading.Thread:
    """Start a thread that compiles the session's functions, or return the one already started."""
    with _starting:
        if packed.kind not in _compilers:
            thread = threading.Thread(target=_compile, args=[packed], name="heavytail compiles", daemon=True)
            thread.start()
            _compilers[packed.kind] = thread
        return _compilers[packed.kind]


def _compile(packed: Packed) -> None:
    with suppress(Exception):  # on any error, the next call compiles in its own thread and raises it
        packed.compile_address()
        for function in FUNCTIONS.values():
            packed.entry(*function)


# A forked child would inherit locks, but not the threads that release them. So before it is forked, other
# threads finish their calls, and those that compile come to their end.
_live: dict["weakref.ref[Turn]", None] = {}
_forking = threading.Lock()
_held: list["Turn"] = []


class Turn:
    """Which thread holds a session."""

    def __init__(self) -> None:
        self.lock, self.owner = threading.Lock(), 0
        _live[weakref.ref(self, lambda reference: _live.pop(reference, None))] = None

    def hold(self) -> bool:
        """Wait until no other thread holds the session, then keep all out; False if this thread holds it."""
        return self.owner != threading.get_ident() and self.lock.acquire()


def _hold_sessions() -> None:
    _forking.acquire()
    for reference in list(_live):
        turn = reference()
        if turn is not None and turn.hold():
            _held.append(turn)
    _starting.acquire()
    for thread in _compilers.values():
        thread.join()


def _release_sessions() -> None:
    _starting.release()
    while _held:
        _held.pop().lock.release()
    _forking.release()


os.register_at_fork(
    before=_hold_sessions, after_in_parent=_release_sessions, after_in_child=_release_sessions
)


class LiveSession:
    """A session whose functions may be called from several threads."""

    name: str
    problem: Problem

    def _attach(self, packed: Packed) -> None:
        self._packed = packed
        self._turn = Turn()
        # Until they are compiled, both take the record itself.
        self._address: Any = packed
        self._act: Callable[..., int] = partial(self._call_early, "act")
        self._update: Callable[..., int] = partial(self._call_early, "update")
        self._compiler: threading.Thread | None = None

    def _call_early(self, function: str, packed: Any, *arguments: Any) -> int:
        """Call a function that is not compiled yet, or was not when the call began."""
        with deferred_interrupts(), self._locked():  # nothing else may run while one is interpreted
            if self._address is self._packed and self._is_compiling():
                source, *_ = FUNCTIONS[function]
                return int(interpret(source, packed, *arguments))
        compiled = self._switch()[function]
        return compiled(packed.address if isinstance(packed, Packed) else packed, *arguments)

    def _is_compiling(self) -> bool:
        """Return whether a thread is compiling; the first call starts one if it is worth it."""
        if self._compiler is None:
            own = all(cls.__module__.startswith("heavytail.") for cls in record_classes(self._packed.record))
            H, S, A = max(self.problem.horizon, 1), self.problem.n_states, self.problem.n_actions
            # Tests show that plain Python gives the same results for heavytail's own agents only.
            if not own or H * S * A > MAX_CELLS or all(self._packed.is_ready(*f) for f in FUNCTIONS.values()):
                return False
            self._compiler = _compile_aside(self._packed)
        return self._compiler.is_alive()

    def _switch(self) -> dict[str, Callable[..., int]]:
        """Use compiled code from now on."""
        compiled = {name: self._packed.entry(*function) for name, function in FUNCTIONS.items()}
        address = self._packed.address
        with self._locked():  # after an interpreted call of another thread
            self._address = address  # first: callers read the function, then the address
            self._act, self._update = compiled["act"], compiled["update"]
        return compiled

    def _where(self, session: Packed) -> Any:
        """Return the argument `_act` takes for a session; call this after reading `_act`."""
        return session if self._address is self._packed else session.address

    def _wait(self) -> None:
        with self._locked():
            pass

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the session, once no other thread does."""
        if self._turn.owner == threading.get_ident():
            raise InputError(
                f"{self.name} is in the middle of a call or a save; a signal handler must wait for it"
            )
        with self._turn.lock:
            self._turn.owner = threading.get_ident()
            try:
                yield
            finally:
                self._turn.owner = 0

    @contextmanager
    def _frozen(self) -> Iterator[None]:
        """Keep other threads from changing the session; their calls wait."""
        with self._locked():
            self._packed.record.frozen[0] = 1
            try:
                yield
            finally:
                self._packed.record.frozen[0] = 0
