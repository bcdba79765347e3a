"""The exact solver in a process of its own: if it crashes or hangs, the answer is ``UNKNOWN``.

One child serves all requests of this process, so that the solver library is loaded once. Results do
not depend on time unless a request sets ``seconds``: the work limit is deterministic, and the
wall-clock guard (far beyond any limit) only catches a solver that hangs.

Whatever interrupts the wait for an answer ends the child, and answers carry the number of their
request: no answer can be read by another question. The child lives in a session of its own, so that
a Ctrl-C at the terminal reaches the parent alone; when the parent is gone, it ends.
"""

import atexit
import contextlib
import importlib.util
import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import IO, Protocol

from warploom.errors import MissingExtraError
from warploom.modulo.exact.request import UNKNOWN, CpAnswer, CpRequest

MOST_KNOWN = 256  # answers that are kept
GUARD_SECONDS = 120.0
GUARD_SECONDS_PER_WORK = 60.0
_CHILD = "from warploom.modulo.exact.process import serve; serve()"


class ExactSolver(Protocol):
    """Anything that answers requests."""

    def solve(self, request: CpRequest) -> CpAnswer:
        """Answer one request; never raises for what the solver does."""
        ...


def exact_solver_available() -> bool:
    """True when OR-tools can be imported."""
    return importlib.util.find_spec("ortools") is not None


def require_exact_solver() -> None:
    """Raise ``MissingExtraError`` when OR-tools is not installed."""
    if not exact_solver_available():
        raise MissingExtraError("ortools", "solver", "exact modulo scheduling")


class ChildSolver:
    """CP-SAT in a child process, started on the first request and again after a death."""

    def __init__(self, command: tuple[str, ...] | None = None) -> None:
        # -P: files of the user's folder must not stand in for modules of Python's own.
        self._command = command or (sys.executable, "-P", "-c", _CHILD)
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._asked = 0
        self._known: dict[CpRequest, CpAnswer] = {}
        self._lock = threading.Lock()

    def solve(self, request: CpRequest) -> CpAnswer:
        """Send the request and wait for its answer; one at a time, whoever asks.

        An answer that is final is kept: a body is asked the same more than once, as alone and as
        one of several, or with goals and without.
        """
        with self._lock:
            key = replace(request, work=0.0, seconds=None)
            known = self._known.get(key)
            if known is not None and known.work <= request.work:
                return known
            try:
                answer = self._answer(request)
            except (OSError, EOFError, pickle.UnpicklingError):
                self.close()
                return CpAnswer(status=UNKNOWN.status, note="the solver process died")
            except BaseException:
                self.close()  # an answer still to come must not meet the next question
                raise
            if answer.final:
                while len(self._known) >= MOST_KNOWN:
                    del self._known[next(iter(self._known))]
                self._known[key] = answer
            return answer

    def _answer(self, request: CpRequest) -> CpAnswer:
        child = self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        self._asked += 1
        number = self._asked
        write_message(child.stdin, pickle.dumps((number, request)))
        if not select.select([child.stdout], [], [], _guard(request))[0]:
            self.close()
            return CpAnswer(status=UNKNOWN.status, note="the solver hung and was stopped")
        got, answer = pickle.loads(read_message(child.stdout))  # our own child, our own bytes
        if got != number or not isinstance(answer, CpAnswer):
            raise EOFError
        return answer

    def close(self) -> None:
        """Stop the child; the next request starts a new one."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return  # after a fork the child is the parent's
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        child.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        mine = self._owner == os.getpid()
        if self._child is None or not mine or self._child.poll() is not None:
            self.close()
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            self._owner = os.getpid()
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        return self._child


def _guard(request: CpRequest) -> float:
    """Seconds after which a solver that has not answered must hang."""
    by_work = GUARD_SECONDS + GUARD_SECONDS_PER_WORK * request.work
    return by_work if request.seconds is None else min(by_work, GUARD_SECONDS + request.seconds)


@cache
def shared_solver() -> ChildSolver:
    """The child that serves this process; it ends with it."""
    solver = ChildSolver()
    atexit.register(solver.close)
    return solver


class _Unused:
    """Stands for the tables of pandas in annotations and ``isinstance`` questions."""


def _load_solver() -> Callable[[CpRequest], CpAnswer]:
    """Load OR-tools into this child, without pandas.

    Its Python layer imports pandas for annotations and for tables of variables, which the models
    here do not use; that import takes three quarters of the child's start. A version that asks more
    of it is loaded as usual.
    """
    stand_in = ModuleType("pandas")
    for name in ("Series", "Index", "DataFrame"):
        setattr(stand_in, name, _Unused)
    if "pandas" not in sys.modules:
        sys.modules["pandas"] = stand_in
    try:
        from warploom.modulo.exact.solve import solve_request  # noqa: PLC0415
    except Exception:  # whatever a version does with it
        for name in [m for m in sys.modules if m.partition(".")[0] in ("ortools", "pandas")]:
            del sys.modules[name]
        from warploom.modulo.exact.solve import solve_request  # noqa: PLC0415
    return solve_request


def serve() -> None:
    """The child's loop: read requests from stdin, write answers to stdout, until the pipe ends."""
    solve_request = _load_solver()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the library prints must not mix with the answers
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox,), daemon=True).start()
    while True:
        number, request = pickle.loads(inbox.get())
        try:
            answer = solve_request(request)
        except Exception as error:  # the library has raised on models it should have taken
            why = f"the solver failed: {type(error).__name__}: {error}"
            answer = CpAnswer(status=UNKNOWN.status, note=why)
        write_message(sink, pickle.dumps((number, answer)))


def _receive(inbox: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on; the end of the pipe ends the child, in the middle of a solve too."""
    while True:
        try:
            inbox.put(read_message(sys.stdin.buffer))
        except EOFError:
            os._exit(0)


def write_message(stream: IO[bytes], payload: bytes) -> None:
    """Length, then bytes."""
    stream.write(struct.pack("<Q", len(payload)) + payload)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """The counterpart of ``write_message``; raises ``EOFError`` at the end."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (size,) = struct.unpack("<Q", head)
    payload = stream.read(size)
    if len(payload) < size:
        raise EOFError
    return payload
