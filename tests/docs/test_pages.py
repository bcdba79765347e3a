"""What pages promise: answers near the README, public imports, files that exist, torch examples."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    found = (t for t in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in t)
    return {(page.parent / t).resolve() for t in found}


@pytest.mark.parametrize(
    "page",
    ["reference/gpus", "howto/torch", "explain/hazards", "reference/comparison", "howto/debug"],
)
def test_five_questions_are_two_clicks_from_the_readme(page):
    first = links(ROOT / "README.md")
    second = set().union(*(links(p) for p in first if p.suffix == ".md"))
    assert (DOCS / f"{page}.md").resolve() in first | second


def test_words_that_readers_search_for_are_in_the_docs():
    text = " ".join(p.read_text().lower() for p in DOCS.rglob("*.md"))
    for word in ("pytorch", "b200", "debug", "torch.compile", "flashattention", "cutlass", "jax"):
        assert word in text


def test_tutorials_import_public_names_only():
    public = {"warploom", "warploom.torch", "warploom.gfx950", "warploom.execution"}
    for page in sorted((DOCS / "tutorial").glob("*.md")):
        found = re.findall(r"(?m)^\s*(?:from|import) (warploom[\w.]*)", page.read_text())
        assert {m for m in found if not m.startswith("warploom.kernels.")} <= public, page.name


def test_the_map_names_files_that_are_there():
    text = (DOCS / "howto" / "contribute.md").read_text()
    for name in re.findall(r"`((?:src|tests|docs|scripts|bench)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name


def test_the_torch_page_shows_the_example_that_runs():
    code = (ROOT / "examples" / "torch_model.py").read_text()
    part = code[code.index("class Layer") : code.index("def main")].rstrip()
    assert part in (DOCS / "howto" / "torch.md").read_text()


def test_patched_attention_serves_a_layer_of_a_model():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "torch_model.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "patched attention agrees" in done.stdout
    assert "torch's own, because" in done.stderr


def test_the_agent_page_lists_every_tool():
    source = (ROOT / "src" / "warploom" / "cli" / "mcp.py").read_text()
    tools = re.search(r"for tool in \(([^)]*)\)", source)[1].split(", ")
    page = (DOCS / "howto" / "agents.md").read_text()
    for tool in tools:
        assert f"| `{tool}`" in page
