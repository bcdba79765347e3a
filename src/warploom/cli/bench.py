"""``warploom bench``: a kernel on the GPU at hand against the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from warploom.cli import gpu
from warploom.cli.author import user_object
from warploom.cli.knobs import Request, SetOption, ShapeOption, SpecArgument, with_request
from warploom.cli.output import Answer
from warploom.cli.run import ready, why_host
from warploom.cli.source import look_up
from warploom.cli.subject import Subject
from warploom.errors import BackendError, ConfigError


@with_request(without=("target", "sync", "knobs"))
def command(
    source: SpecArgument,
    shape: ShapeOption = None,
    setting: SetOption = [],  # noqa: B006 (typer's own way)
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE.py:F", help="A torch function of the same inputs, in order."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds, order rotated.")] = 5,
    *,
    request: Request,
) -> Answer:
    """Time a kernel on the GPU at hand against the library, which enters twice.

    The library is torch's call for a shipped kernel, or your own by --against; its second entry
    shows the noise. Without a Hopper GPU the command ends with 2 and says what is missing.

    Example: warploom bench gemm --shape 8192x8192x8192
    """
    found = look_up(source, request)
    missing = why_host(found)
    if missing:
        word = found.name if isinstance(found, Subject) else found.text.name
        raise BackendError(
            f"{word} cannot be timed here: {missing}",
            where=source,
            why="only Hopper kernels are run, on an H100 or H200",
            fix=f"`warploom simulate {source}` predicts what it should take",
        )
    problem, document = ready(found, shape, setting, timed=True)
    bound = gpu.Bound(problem, document)
    errors, _ = bound.check()
    right = all(e <= problem.limit(n) for n, e in errors.items())
    middle = bound.race(_theirs(bound, against), rounds)
    name = document.name if document else problem.kernel.text.name
    lines = [f"{name}: {problem.words}"]
    worst = max(errors.values())
    lines.append(f"  error {worst:.1e} against NumPy: {'right' if right else 'WRONG'}")
    for who, ms in middle.items():
        ratio = f"{middle['library'] / ms:7.3f} x library" if "library" in middle else ""
        rate = f"{problem.flop / ms / 1e9:8.1f} TFLOP/s" if problem.flop else ""
        moved = "" if problem.flop else f"{problem.bytes / ms / 1e6:8.1f} GB/s"
        lines.append(f"  {who:<14} {ms:9.4f} ms {rate}{moved} {ratio}".rstrip())
    if "library" not in middle:
        lines.append("  no library call is known for it: --against file.py:function names one")
    data = {"name": name, "problem": problem.words, "error": errors, "ms": middle}
    return Answer(lambda: "\n".join(lines), lambda: data, 0 if right else 1)


def _theirs(bound: gpu.Bound, against: str | None) -> Callable[[], Any] | None:
    if against is None:
        return None
    given = user_object(against)
    if not callable(given):
        raise ConfigError(f"{against} is no function", where="--against")
    inputs = list(bound.inputs.values())
    return lambda: given(*inputs)
