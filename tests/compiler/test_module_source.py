"""``emit h200 module.json`` gives the code that the kernel itself gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.mbarrier.samples import compiled
from warploom.cli import build_app
from warploom.compiler.emit_cuda import emit_kernel
from warploom.compiler.module_source import emit_module, is_module
from warploom.errors import BackendError, WarploomError
from warploom.ir.serialize import from_json, to_json


@pytest.mark.parametrize(
    "name", ["gemm", "rms_gemm", "attention", "attention_grad", "grouped", "block_scaled", "scan"]
)
def test_the_code_of_a_module_is_the_code_of_its_kernel(name: str) -> None:
    made = compiled(name)
    config = made.choices[0].config
    written = to_json(made.module_of(config))
    module, text = emit_module(written)
    assert text == emit_kernel(made.lower(config)).text
    assert to_json(module) == written


def test_the_command_reads_a_module(tmp_path: Path) -> None:
    made = compiled("gemm")
    path = tmp_path / "module.json"
    path.write_text(to_json(made.module_of(made.choices[0].config)))
    assert is_module(str(path))
    out = tmp_path / "out"
    ran = CliRunner().invoke(
        build_app(("emit",)), ["emit", "h200", str(path), "-o", str(out), "--no-build"]
    )
    assert ran.exit_code == 0, ran.output
    assert (out / "kernel.cu").read_text() == emit_kernel(made.lower(made.choices[0].config)).text


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (lambda m: m["launch"].update(shared_bytes=1), "module.launch.shared_bytes"),
        (lambda m: m["roles"][0]["tiles"].update(least_trips=3), "module.roles[0].tiles"),
        (lambda m: m["request"]["knobs"].pop(), "module"),
    ],
)
def test_a_module_that_no_pass_made_is_refused(edit, where: str) -> None:
    made = compiled("gemm")
    data = json.loads(to_json(made.module_of(made.choices[0].config)))
    edit(data["module"])
    with pytest.raises(BackendError, match="is not what passes make") as refused:
        emit_module(json.dumps(data))
    assert str(refused.value.what).startswith(where)


def test_a_module_without_knobs_is_refused() -> None:
    """Modules that were written before they had knobs stay readable."""
    made = compiled("gemm")
    data = json.loads(to_json(made.module_of(made.choices[0].config)))
    del data["module"]["request"]
    assert from_json(json.dumps(data)).request is None
    with pytest.raises(WarploomError, match="with which knobs"):
        emit_module(json.dumps(data))
