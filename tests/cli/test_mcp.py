"""Tools for coding agents: called as functions, and through a client of the protocol."""

import json
import sys
from dataclasses import replace

import pytest

from warploom.cli import mcp
from warploom.cli.source import load
from warploom.ir import write_schedule
from warploom.ir.schedule_ops import ScheduleOps


def test_findings_are_structured(tmp_path):
    document = load("fourwave").document
    at = next(i for i, e in enumerate(document.kernel) if e.op.tag == ScheduleOps.WAIT_VM)
    entry = document.kernel[at]
    weaker = replace(entry, op=replace(entry.op, wait_value=entry.op.wait_value + 1))
    racy = replace(document, kernel=(*document.kernel[:at], weaker, *document.kernel[at + 1 :]))
    path = tmp_path / "racy.json"
    path.write_text(write_schedule(racy))
    found = mcp.verify(str(path))
    assert found["clean"] is False
    assert found["reports"][0]["verdict"] == "race"
    assert found["reports"][0]["findings"][0]["code"]
    json.dumps(found)


KERNEL = """
import warploom as wl

@wl.kernel
def scaled(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    total = wl.zeros(m, n)
    for k in wl.steps(x.k):
        total += x[m, k] @ w[n, k].T
    out[m, n] = total * 0.5

@wl.kernel
def halved(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * 0.5
"""


def test_a_verdict_is_about_what_a_kernel_computes_too(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(KERNEL)
    schedule, module = mcp.verify(f"{path}:scaled")["reports"]
    assert schedule["trips_proven"]
    assert module["coverage"]
    assert module["dataflow"]
    # Without a loop there is no schedule, and "clean" must be about something.
    (only,) = mcp.verify(f"{path}:halved")["reports"]
    assert only["verdict"] == "clean"
    assert only["dataflow"]


def test_a_verdict_that_rests_on_latencies_is_not_clean(monkeypatch):
    from warploom.cli import verify

    class Timing:
        report = "of some kind"

        def to_json(self):
            return {"verdict": "timing", "findings": [{"code": "RAW"}] * (mcp.MOST + 2)}

    monkeypatch.setattr(verify, "verdicts_of", lambda source, **_: [(Timing(), None)])
    found = mcp.verify("anything")
    assert found["clean"] is False
    assert len(found["reports"][0]["findings"]) == mcp.MOST
    assert found["reports"][0]["more_findings"] == 2


def test_an_error_has_its_four_parts():
    for tool in (mcp.verify, mcp.explain, mcp.compile, mcp.interpret):
        error = tool("nothing_of_this_name")["error"]
        assert {"kind", "what", "where", "why", "fix"} == error.keys()
        assert error["fix"]


def test_explain_and_interpret_say_what_the_commands_say():
    found = mcp.explain("fourwave")["loops"][0]
    assert found["bottleneck"].startswith("An iteration takes 4360 cycles")
    assert any(e["reason"] for e in found["entries"])
    assert mcp.interpret("fourwave", 1)["right"] is True
    assert mcp.compile("fourwave", with_document=True)["document"]["name"] == "fourwave"


def test_language_lists_the_builtins_of_kernels():
    words = mcp.language()["words"]
    assert {"tile", "steps", "zeros", "exp"} <= words.keys()


def test_a_client_of_the_protocol_is_served(tmp_path):
    """What an agent does: reads the language, writes a kernel, and asks every tool about it."""
    pytest.importorskip("mcp")
    anyio = pytest.importorskip("anyio")
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    path = tmp_path / "mine.py"
    path.write_text(KERNEL)
    mine = f"{path}:scaled"

    async def talk():
        command = StdioServerParameters(command=sys.executable, args=["-m", "warploom", "mcp"])
        async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}

            async def ask(tool, **arguments):
                answer = await session.call_tool(tool, arguments)
                return json.loads(answer.content[0].text)

            return tools, {
                "language": await ask("language"),
                "verify": await ask("verify", source=mine),
                "explain": await ask("explain", source=mine),
                "compile": await ask("compile", source=mine, tile="64x64x64"),
                "interpret": await ask("interpret", source=mine, runs=1),
                "autotune": await ask("autotune", source=mine, shape="256x256x256", top=2),
                "check": await ask("check", source=mine, sizes="m=64,n=64,k=64"),
                "typing error": await ask("verify", source=f"{path}:scale"),
            }

    tools, answers = anyio.run(talk)
    assert tools == answers.keys() - {"typing error"}
    assert answers["typing error"]["error"]["fix"] == "did you mean 'scaled'?"
    assert "tile" in answers["language"]["words"]
    assert answers["verify"]["clean"] is True
    assert answers["explain"]["loops"][0]["bottleneck"]
    assert answers["compile"]["verdict"] == "clean"
    assert answers["interpret"]["right"] is True
    assert len(answers["autotune"]["tiles"]) == 2
    assert answers["check"]["reports"][0]["verdict"] == "clean"


def test_without_the_package_the_command_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setitem(sys.modules, "mcp.server.fastmcp", None)
    with pytest.raises(Exception, match="mcp"):
        mcp.server()
