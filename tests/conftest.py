"""Options of the whole test run."""

import gc
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        default=False,
        help="rewrite the golden pictures and texts with what the code gives now",
    )


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """Long tests are of the slow run."""
    lines = Path(__file__).with_name("long_tests.txt").read_text().splitlines()
    long = {line for line in lines if not line.startswith("#")}
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """What was imported stays: the collector need not walk it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_sessionfinish():
    """Looked through once here; pytest would do so five times."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _compiled_by_one(tmp_path_factory):
    """LLVM takes a second a kernel: what it made for one test or worker, the others read."""
    toolchain = sys.modules.get("warploom.codegen.amdgcn.toolchain")
    if toolchain is None:  # nobody asks for it
        yield
        return
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "llvm"
    folder.mkdir(exist_ok=True)
    compiled = toolchain._worker

    def recalled(ir, form, *rest):
        kept = folder / hashlib.sha256(f"{form} {rest}\n{ir}".encode()).hexdigest()
        if not kept.exists():
            own = kept.with_suffix(f".{os.getpid()}")
            own.write_text(json.dumps(compiled(ir, form, *rest)))
            own.replace(kept)
        return json.loads(kept.read_text())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "_worker", recalled)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, obj):
    """Tests of the slow run need not be made to be left out."""
    left_out = collector.config.option.markexpr == "not slow"
    if left_out and any(m.name == "slow" for m in getattr(obj, "pytestmark", ())):
        return []
    return None
