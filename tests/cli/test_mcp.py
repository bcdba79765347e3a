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
    assert found["loops"][0]["verdict"] == "race"
    assert found["loops"][0]["findings"][0]["code"]
    json.dumps(found)


def test_an_error_has_its_four_parts():
    for tool in (mcp.verify, mcp.explain, mcp.compile, mcp.interpret):
        error = tool("nothing_of_this_name")["error"]
        assert {"kind", "what", "where", "why", "fix"} == error.keys()
        assert error["fix"]


def test_explain_and_interpret_say_what_the_commands_say():
    found = mcp.explain("fourwave")["loops"][0]
    assert found["bottleneck"].startswith("An iteration takes 4488 cycles")
    assert any(e["reason"] for e in found["entries"])
    assert mcp.interpret("fourwave", 1)["right"] is True
    assert mcp.compile("fourwave", with_document=True)["document"]["name"] == "fourwave"


def test_language_lists_the_builtins_of_kernels():
    words = mcp.language()["words"]
    assert {"tile", "steps", "zeros", "exp"} <= words.keys()


def test_a_client_of_the_protocol_is_served(tmp_path):
    pytest.importorskip("mcp")
    anyio = pytest.importorskip("anyio")
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def talk():
        command = StdioServerParameters(command=sys.executable, args=["-m", "warploom", "mcp"])
        async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            answer = await session.call_tool("verify", {"source": "fourwave"})
            return tools, json.loads(answer.content[0].text)

    tools, answer = anyio.run(talk)
    assert {"verify", "check", "explain", "compile", "interpret", "autotune"} <= tools
    assert answer["clean"] is True


def test_without_the_package_the_command_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.setitem(sys.modules, "mcp.server.fastmcp", None)
    with pytest.raises(Exception, match="mcp"):
        mcp.server()
