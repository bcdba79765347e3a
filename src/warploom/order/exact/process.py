"""The exact solver behind a process border: if it crashes or hangs, the answer is ``UNKNOWN``.

One child serves all requests of this process, so that the solver library is loaded once. Results do
not depend on time: the work limit is deterministic, and the wall-clock guard (far beyond any work
limit) only catches a solver that hangs.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import pickle
import select
import struct
import subprocess
import sys
from functools import cache
from typing import IO, Protocol

from warploom.errors import MissingExtraError
from warploom.order.exact.request import UNKNOWN, CpAnswer, CpRequest

GUARD_SECONDS = 120.0
GUARD_SECONDS_PER_WORK = 60.0
_CHILD = "from warploom.order.exact.process import serve; serve()"


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
        self._command = command or (sys.executable, "-c", _CHILD)
        self._child: subprocess.Popen[bytes] | None = None

    def solve(self, request: CpRequest) -> CpAnswer:
        """Send the request and wait for its answer."""
        child = self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            write_message(child.stdin, pickle.dumps(request))
            guard = GUARD_SECONDS + GUARD_SECONDS_PER_WORK * request.work
            if not select.select([child.stdout], [], [], guard)[0]:
                self.close()
                return CpAnswer(status=UNKNOWN.status, note="the solver hung and was stopped")
            answer = pickle.loads(read_message(child.stdout))  # our own child, our own bytes
        except (OSError, EOFError, pickle.UnpicklingError):
            self.close()
            return CpAnswer(status=UNKNOWN.status, note="the solver process died")
        assert isinstance(answer, CpAnswer)
        return answer

    def close(self) -> None:
        """Stop the child; the next request starts a new one."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        child.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self.close()
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        return self._child


@cache
def shared_solver() -> ChildSolver:
    """The child that serves this process; it ends with it."""
    solver = ChildSolver()
    atexit.register(solver.close)
    return solver


def serve() -> None:
    """The child's loop: read requests from stdin, write answers to stdout, until the pipe ends."""
    from warploom.order.exact.solve import solve_request  # noqa: PLC0415  loads OR-tools

    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the library prints must not mix with the answers
    while True:
        try:
            request = pickle.loads(read_message(source))
        except EOFError:
            return
        try:
            answer = solve_request(request)
        except Exception as error:  # the library has raised on models it should have taken
            why = f"the solver failed: {type(error).__name__}: {error}"
            answer = CpAnswer(status=UNKNOWN.status, note=why)
        write_message(sink, pickle.dumps(answer))


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
