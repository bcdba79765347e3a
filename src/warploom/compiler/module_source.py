"""Code of a kernel module in JSON: for Hopper of the kernel that it was made from; programs of
threads and of waves are printed as they are, after they were verified.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path

from warploom.codegen.amdgcn.tile_ir.code import ModuleCode, compile_module
from warploom.codegen.cuda.threads import emit_threads
from warploom.compiler.compiled import Compiled
from warploom.errors import BackendError, VerificationError, WarploomError
from warploom.interp.dataflow import require_computed
from warploom.interp.module_report import verify_module
from warploom.ir.module import KernelModule
from warploom.ir.roles_document import roles_documents
from warploom.ir.serialize import from_json
from warploom.targets.h200 import h100, h200
from warploom.verify.coverage import require_covered
from warploom.verify.roles import require_clean
from warploom.verify.roles.composition import require_composed


def is_module(source: str) -> bool:
    """Whether a source names a file that ``ir.to_json`` wrote."""
    try:
        data = json.loads(Path(source).read_bytes()) if Path(source).is_file() else None
    except (OSError, ValueError, RecursionError):  # too long for a path, or no JSON
        return False
    return isinstance(data, dict) and "module" in data


def emit_module(text: str) -> tuple[KernelModule, str]:
    """A module from its JSON, and its CUDA: the code of the kernel that it was made from.

    Its programs are verified, and passes make registers and shared memory of the embedded kernel
    and the knobs once more. A module that says something else than they do is refused
    (``BackendError``): what no pass made has no layout to be printed with.
    """
    module, targets = from_json(text), {"h200": h200, "h100": h100}
    if module.program is not None:
        raise BackendError(
            f"the module {module.name} is a program of waves",
            where=module.name,
            why=f"it was made for {module.target}",
            fix="warploom emit gfx950 module.json",
        )
    if module.threads is not None:
        return module, emit_verified(module)
    asked = module.request
    if asked is None or module.target not in targets:
        raise BackendError(
            f"the module {module.name} does not say with which knobs it was made",
            where=module.name,
            why="it is of a kernel without a loop, or of another target"
            if module.target not in targets or not module.storage.rings
            else "it was written before modules said so",
            fix="warploom emit h200 KERNEL; show KERNEL --dump-passes DIR writes a new module",
        )
    made = Compiled(
        module.kernel,
        sizes=dict(asked.sizes),
        pins={k.name: k.value for k in asked.knobs},
        positive=asked.positive,
        target=targets[module.target](),
    )
    documents = roles_documents(module)
    for document in documents:
        require_clean(document)
    require_composed(documents)
    config = made.choices[0].config
    other = _difference(made.module_of(config), module, "module")
    if other is not None:
        raise BackendError(
            f"{other} is not what passes make of the kernel",
            where=module.name,
            why="code is printed for the registers and the shared memory that passes laid out",
            fix="edit the role programs of a dump: show KERNEL --dump-passes DIR, emit h200 DIR",
        )
    return module, made.source_from(documents)


def emit_verified(module: KernelModule) -> str:
    """The CUDA of a thread program, which is printed as it is, after it was verified. One that
    cannot be executed is printed if it is what passes make.
    """
    require_covered(module)
    report = require_computed(module)
    if report.not_judged and not _is_made(module):
        raise BackendError(
            f"the module {module.name} is not judged",
            where=module.name,
            why=report.not_judged,
            fix="the module that show KERNEL --dump-passes DIR writes",
        )
    return emit_threads(module).text


def emit_waves(text: str) -> ModuleCode:
    """The machine code of a wave program in JSON, which is printed as it is, after it was verified:
    synchronisation for every timing, what its loops compute, stores and accesses by execution.
    """
    module = from_json(text)
    report = verify_module(module)
    if report.verdict not in ("clean", "timing"):
        raise VerificationError(
            f"module {module.name}: {report.verdict}",
            where=module.name,
            why=report.text().splitlines()[-1].strip(),
            fix="the module that show KERNEL --target mi355x --dump-passes DIR writes",
            report=report,
        )
    code = compile_module(module)
    if code.gate is not None:
        code.gate.require()
    return code


def _is_made(module: KernelModule) -> bool:
    """Whether a thread program is what passes make of its kernel."""
    asked = module.request
    if asked is None:
        return False
    pins = {k.name: k.value for k in asked.knobs}
    made = Compiled(module.kernel, sizes=dict(asked.sizes), pins=pins)
    if made.without_products() is not None:
        return made.thread_module == module
    try:
        return module in made.block_modules(BackendError("no products"))
    except WarploomError:
        return False


def _difference(one: object, other: object, path: str) -> str | None:
    """The path of the first place in which two values differ."""
    if one == other:
        return None
    if type(one) is type(other) and is_dataclass(one) and not isinstance(one, type):
        for f in fields(one):
            result = _difference(getattr(one, f.name), getattr(other, f.name), f"{path}.{f.name}")
            if result is not None:
                return result
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            result = _difference(*pair, f"{path}[{i}]")
            if result is not None:
                return result
    return path
