"""The command line in this process: as a user runs it, without the start of an interpreter."""

import contextlib
import io
import os
import sys
import warnings
from dataclasses import dataclass
from unittest import mock

from warploom.cli import main


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class _Stream(io.TextIOWrapper):
    """Standard input or output with bytes below, as the real ones have."""

    def __init__(self, content=b""):
        super().__init__(io.BytesIO(content), encoding="utf-8", write_through=True)

    def text(self):
        return self.buffer.getvalue().decode()


def warploom(*arguments, stdin="", cwd=None):
    """Run a command; returns its exit code and what it wrote."""
    out, err = _Stream(), _Stream()
    saved = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["warploom", *map(str, arguments)], _Stream(stdin.encode())
    code = 0
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.chdir(cwd or "."),
            warnings.catch_warnings(),
            mock.patch.dict(os.environ),  # what a command sets, it sets for itself
        ):
            warnings.simplefilter("always")  # as text, not as errors of the test run
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.argv, sys.stdin = saved
    return Done(code, out.text(), err.text())
