"""Modules: JSON there and back, listings, and the documents derived from them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.interp.cases import norm_then_product, softmax
from tests.ir.modules import KERNELS, compiled, module
from warploom.compiler.compiled import Compiled
from warploom.errors import DocumentError
from warploom.ir import from_json, to_json, write_schedule
from warploom.ir.roles_document import roles_document, roles_documents
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import grouped, grouped_gathered
from warploom.kernels.rms_gemm import rms_gemm
from warploom.passes.row_module import build_row_module
from warploom.verify.coverage import verify_coverage
from warploom.verify.roles import require_clean

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", KERNELS)
def test_json_there_and_back(name: str) -> None:
    text = to_json(module(name))
    assert from_json(text) == module(name)
    assert json.loads(text)["format"] == 2


@pytest.mark.parametrize("name", KERNELS)
def test_modules_name_no_folder(name: str) -> None:
    assert str(Path(__file__).parents[2]) not in to_json(module(name))


@pytest.mark.parametrize("name", KERNELS)
def test_documents_name_no_folder(name: str) -> None:
    """Lines are relative to the author's file: two machines write the same document."""
    made = compiled(name)
    document = made.lower(made.choices[0].config).document
    assert document.flow is not None
    places = {op.line for op in document.flow.ops if op.line}
    assert places
    assert all("/" not in p and ".py:" in p for p in places)
    assert str(Path(__file__).parents[2]) not in write_schedule(document)


@pytest.mark.parametrize("name", KERNELS)
def test_the_verified_document_is_derived_from_the_module(name: str) -> None:
    """Equal to what the passes made, but for prices."""
    made = compiled(name)
    lowered = made.lower(made.choices[0].config)
    derived = roles_document(module(name))
    assert derived == replace(lowered.document, costs=None)
    assert require_clean(derived).verdict == require_clean(lowered.document).verdict


def test_a_wait_removed_from_the_module_is_found_by_the_verifier() -> None:
    from warploom.errors import VerificationError
    from warploom.ir.operations import StepLoop, WaitGroup

    found = module("small")
    consumer = found.role("consumer")
    body = tuple(
        replace(s, body=tuple(o for o in s.body if not isinstance(o, WaitGroup)))
        if isinstance(s, StepLoop)
        else s
        for s in consumer.tiles.body
    )
    broken = replace(
        found,
        roles=tuple(
            replace(r, tiles=replace(r.tiles, body=body)) if r is consumer else r
            for r in found.roles
        ),
    )
    with pytest.raises(VerificationError):
        require_clean(roles_document(broken))


@pytest.mark.parametrize("name", ["large", "small"])
def test_listing(name: str) -> None:
    assert str(module(name)) == (GOLDEN / f"h200_{name}.txt").read_text()


def test_compiled_shows_its_module() -> None:
    made = gemm.with_config(m=128, n=64, k=64).compile("bf16", without=("bias", "residual"))
    assert made.after("module") == str(made.module)
    assert made.coverage.verdict == "clean"


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (lambda d: d.update(format=1), "$.format"),
        (lambda d: d["module"].pop("launch"), "$.module"),
        (lambda d: d["module"].update(rolls=[]), "$.module"),
        (lambda d: d["module"]["launch"].update(grid=["**", 1, 2]), "$.module.launch.grid"),
        (lambda d: d["module"]["launch"].update(block="x"), "$.module.launch.block"),
        (
            lambda d: d["module"]["roles"][0]["tiles"]["body"][0].update({"is": "Sleep"}),
            "$.module.roles[0].tiles.body[0].is",
        ),
    ],
)
def test_what_is_wrong_in_json_is_named_by_its_path(edit: object, path: str) -> None:
    data = json.loads(to_json(module("small")))
    edit(data)  # type: ignore[operator]
    with pytest.raises(DocumentError) as error:
        from_json(json.dumps(data))
    assert error.value.where == path


def test_no_json_at_all() -> None:
    with pytest.raises(DocumentError):
        from_json("{")


WIDE: dict[str, tuple[Any, dict[str, Any]]] = {
    "attention": (attention.with_config(s=64, t=64), {"sizes": {"d": 64}, "without": ["lse"]}),
    "grouped": (grouped.with_config(t=64, n=32, k=64), {}),
    "gathered": (grouped_gathered.with_config(t=64, n=32, k=64), {}),
    "split": (rms_gemm.with_config(m=64, n=32, k=64, split_k=3), {}),
    "two_loops": (norm_then_product.with_config(m=64, n=32, k=64, j=64), {}),
}


@pytest.mark.parametrize("name", WIDE)
def test_documents_of_every_loop_are_derived_from_the_module(name: str) -> None:
    text, given = WIDE[name]
    made = text.compile("bf16", **given)
    lowered = made.lower(made.choices[0].config)
    found = made.module_of(made.choices[0].config)
    derived = roles_documents(found)
    assert len(derived) == len(lowered.documents)
    for mine, theirs in zip(derived, lowered.documents, strict=True):
        assert mine == replace(theirs, costs=None, flow=mine.flow)
    assert from_json(to_json(found)) == found
    assert "Element" not in str(found)
    assert verify_coverage(found).verdict == "clean"


def test_rows_without_a_loop_have_a_module() -> None:
    kernel = softmax.specialise(softmax.spell("bf16"), sizes={"n": 64})
    found = build_row_module(kernel, Compiled(kernel).rewritten)
    assert from_json(to_json(found)) == found
    assert "tiles(rows, 32 at a time)" in str(found)
    assert "lanes ^ 1, 2, 4" in str(found)
    assert verify_coverage(found).verdict == "clean"
