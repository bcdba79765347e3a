"""``warploom mcp``: the commands as tools of the Model Context Protocol, for coding agents.

Results are structured; what a command refuses comes back as ``error`` with the parts of the
exception, never as a traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from warploom import __version__
from warploom.errors import DocumentError, MissingExtraError, WarploomError

Tool = Callable[..., dict[str, Any]]
MOST = 40  # findings, stalls and rows of one answer
INSTRUCTIONS = (
    "warploom compiles and verifies GPU software pipelines. A source is a shipped kernel (gemm, "
    "attention, swiglu, ...), a built-in schedule (pingpong, fourwave), FILE.py:NAME or a "
    "document's path. Write a kernel, then verify, interpret and explain it; no GPU is needed."
)


def mcp_command() -> None:
    """Serve verify, check, explain, compile, interpret and autotune to a coding agent, on stdio.

    Example: warploom mcp
    """
    server().run("stdio")


def server() -> Any:  # noqa: ANN401 (a class of either version of the package)
    """The server with its tools."""
    kind = _server_class()
    result = kind("warploom", instructions=INSTRUCTIONS)
    for tool in (verify, check, explain, compile, interpret, autotune, language):
        result.tool()(tool)
    return result


def _server_class() -> Any:  # noqa: ANN401
    for module, name in (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP")):
        try:
            return getattr(import_module(module), name)
        except ImportError:
            continue
    raise MissingExtraError("mcp", "mcp", "warploom mcp")


def structured(tool: Tool) -> Tool:
    """Errors as data."""

    @wraps(tool)
    def call(*args: Any, **named: Any) -> dict[str, Any]:  # noqa: ANN401
        try:
            return {"warploom": __version__} | tool(*args, **named)
        except WarploomError as error:
            parts = {n: str(getattr(error, n, "") or "") for n in ("what", "where", "why", "fix")}
            return {"warploom": __version__, "error": {"kind": type(error).__name__} | parts}

    return call


@structured
def verify(source: str, target: str = "") -> dict[str, Any]:
    """Verify a schedule or kernel for every timing and trip count: races, deadlocks, and of a
    kernel that each element is stored once and is what the kernel says. target: h200 or mi355x.
    """
    from warploom.cli.verify import verdicts_of

    reports = []
    for verdict, _ in verdicts_of(source, target=target or None):
        if verdict.report is None:
            raise DocumentError(verdict.error or f"{source} cannot be read", path=verdict.file)
        report = verdict.to_json()
        findings = report["findings"]
        more = max(0, len(findings) - MOST) + report.pop("omitted", 0)
        reports.append(report | {"findings": findings[:MOST], "more_findings": more})
    return {"clean": all(x["verdict"] == "clean" for x in reports), "reports": reports}


@structured
def check(source: str, sizes: str = "", launch: str = "") -> dict[str, Any]:
    """Check machine code: a tile kernel (compiled to PTX), or a .ptx or .s file with its launch."""
    from warploom.check import check as check_code
    from warploom.cli.check import check_kernel
    from warploom.cli.kernels import NamedKernel
    from warploom.cli.knobs import Request
    from warploom.cli.source import look_up
    from warploom.errors import ConfigError

    if launch or Path(source).suffix in (".ptx", ".s", ".amdgcn"):
        reports = [check_code(Path(source), Path(launch) if launch else None)]
    else:
        found = look_up(source, Request())
        kernel = found if isinstance(found, NamedKernel) else found.kernel
        if kernel is None:
            raise ConfigError(f"{source} is no kernel", fix="a tile kernel, or a .ptx or .s file")
        reports = check_kernel(kernel, source, sizes or None, [], {})
    return {"reports": [r.to_json() for r in reports]}


@structured
def explain(source: str) -> dict[str, Any]:
    """What limits a loop, where it stalls, and every entry with its reason."""
    from warploom.cli.display import display
    from warploom.cli.source import load
    from warploom.viz.bottleneck import bottleneck, stalls_of

    loops = []
    for part in load(source).loops:
        shown, pace = display(part), part.pace()
        sim = shown.simulate(max(8, part.least_trips))
        stalls = stalls_of(sim)
        loops.append(
            {
                "title": shown.title,
                "bottleneck": bottleneck(sim, pace),
                "pace": None if pace is None else pace.to_json(),
                "stalls": [
                    {"where": f"{s.phase} {s.index}", "entry": s.label, "cycles": s.cycles}
                    | {"times": s.times, "cause": s.cause}
                    for s in stalls.cost[:MOST]
                ],
                "copies_wait_for_a_free_slot": sum(s.cycles for s in stalls.ahead),
                "entries": [
                    {"list": e.list, "index": e.index, "entry": e.label, "reason": e.reason}
                    | {"source": e.source}
                    for e in shown.panels().entries
                ],
            }
        )
    return {"loops": loops}


@structured
def compile(
    source: str, tile: str = "", dtype: str = "", with_document: bool = False
) -> dict[str, Any]:
    """Compile a schedule or kernel; its verdict, pace and entries, and its document if asked."""
    from warploom.cli.knobs import Request, element_type
    from warploom.cli.source import load

    kind = element_type(dtype) if dtype else None
    subject = load(source, Request(tile=tile or None, dtype=kind, on_race="report"))
    pace = subject.pace()
    found: dict[str, Any] = {
        "name": subject.name,
        "title": subject.title,
        "verdict": subject.report().verdict,
        "pace": None if pace is None else pace.to_json(),
        "entries": {name: len(entries) for name, entries in subject.phases()},
    }
    return found | ({"document": subject.to_json()} if with_document else {})


@structured
def interpret(source: str, runs: int = 4) -> dict[str, Any]:
    """Execute a schedule or kernel without a GPU, under random timings, against NumPy."""
    from warploom.cli.run import on_host
    from warploom.cli.source import load

    return on_host(load(source), max(1, min(runs, 100)))


@structured
def autotune(source: str, shape: str, top: int = 5) -> dict[str, Any]:
    """Tiles of a kernel for a problem such as 4096x4096x4096, best first, by the cost model."""
    from warploom.cli.explore import shape_rows

    return {"tiles": shape_rows([source], shape, None)[: max(1, min(top, MOST))]}


@structured
def language() -> dict[str, Any]:
    """The builtins of the tile language, each with what it computes."""
    import warploom
    from warploom.frontend import language as words

    found = {}
    for name in (n for n in dir(warploom) if hasattr(words, n)):
        value = getattr(words, name)
        said = (getattr(value, "__doc__", "") or "").strip().partition("\n")[0]
        found[name] = said
    return {"words": found, "reference": "docs/reference/language.md"}
