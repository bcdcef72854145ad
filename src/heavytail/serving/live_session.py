"""A session at work: interpreted until it is compiled, and shared by threads.

Compiling takes seconds. Where nothing is kept on the disk, another process does it, and until it has done so
calls are interpreted: plain Python does the same, in milliseconds. Compiled calls keep the GIL, so that each
is done before another begins; an interpreted one holds the lock.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import RLock
from typing import Any

from heavytail.errors import InputError
from heavytail.kernels.interpreting import OvertakenError, interpret
from heavytail.kernels.packed import FLAG, INDEX, REAL, Packed
from heavytail.mdp.problem import Problem
from heavytail.serving.compile_aside import Process, compile_aside
from heavytail.serving.rollback import rolled_back_on_error
from heavytail.serving.session import session_act, session_update

# What is compiled, and the kinds of its arguments after the session
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "act": (session_act, INDEX, INDEX, INDEX),
    "update": (session_update, INDEX, INDEX, REAL, INDEX, INDEX, FLAG, FLAG),
}


class LiveSession:
    """A session whose functions may be called from several threads."""

    name: str
    parameters: dict[str, Any]
    problem: Problem
    _is_registered: bool  # whether another process can build the agent, by name and parameters

    def _attach(self, packed: Packed) -> None:
        self._packed = packed
        self._lock: Any = RLock()  # of whoever froze the session
        # Until they are compiled, both take the record itself
        self._address: Any = packed
        self._act: Callable[..., int] = partial(self._call_early, "act")
        self._update: Callable[..., int] = partial(self._call_early, "update")
        self._compiling: Process | None = None
        self._is_begun = False  # whether anything was called

    def _compile_all(self) -> None:
        with self._locked():
            if not self._is_begun:
                self._start_compiling("update")  # while `act` is compiled here
            for function in FUNCTIONS:
                self._switch(function)

    def _compile(self, function: str) -> Callable[..., int]:
        """Compile "act" or "update", and what packs the record for it, or load what is kept."""
        self._packed.address  # noqa: B018 - it is packed when asked for
        return self._packed.entry(*FUNCTIONS[function])

    def _call_early(self, function: str, packed: Any, *arguments: Any) -> int:
        """Call a function that is not compiled yet, or was not when the call began."""
        with self._locked():  # while a call is interpreted nothing else may happen
            if not self._is_begun:
                self._start_compiling(*FUNCTIONS)
            if self._address is self._packed and self._is_compiling():
                with suppress(OvertakenError):
                    return self._interpret(function, packed, *arguments)
            compiled = self._switch(function)
        return compiled(packed.address if isinstance(packed, Packed) else packed, *arguments)

    def _start_compiling(self, *functions: str) -> None:
        """Let another process compile what is not kept yet, if there may be one."""
        self._is_begun = True
        missing = [name for name in functions if self._packed.would_keep(*FUNCTIONS[name])]
        if missing and self._is_registered:
            self._compiling = compile_aside(
                self.name, self.parameters, self.problem, self._packed.record, missing
            )

    def _is_compiling(self) -> bool:
        return self._compiling is not None and self._compiling.poll() is None

    def _interpret(self, function: str, packed: Packed, *arguments: Any) -> int:
        source, *_ = FUNCTIONS[function]
        with rolled_back_on_error(packed.record, but=("due", "frozen")):
            return int(interpret(source, packed, *arguments, is_overtaken=lambda: not self._is_compiling()))

    def _switch(self, function: str) -> Callable[..., int]:
        """Use compiled code for a function from now on."""
        compiled = self._compile(function)
        self._address = self._packed.address  # first: who has read the function reads it afterwards
        setattr(self, f"_{function}", compiled)
        return compiled

    def _where(self, session: Packed) -> Any:
        """Return what `_act` takes for a session; to be asked after `_act` was read."""
        return session if self._address is self._packed else session.address

    def _wait(self) -> None:
        with self._locked():
            pass

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait until no other thread has the session, and keep it."""
        if self._lock._is_owned():  # noqa: SLF001 - the only way to ask
            raise InputError(
                f"{self.name} is in the midst of a call, or is being saved; a signal handler must wait for it"
            )
        with self._lock:
            yield

    @contextmanager
    def _frozen(self) -> Iterator[None]:
        """Keep other threads from changing the session; their calls wait."""
        with self._locked():
            self._packed.record.frozen[0] = 1
            try:
                yield
            finally:
                self._packed.record.frozen[0] = 0
