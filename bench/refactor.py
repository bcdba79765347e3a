"""What shipped kernels and public calls become, compared between two trees.

    python bench/refactor.py dump FOLDER [PART ...]   sources and verdicts of the tree on PYTHONPATH
    python bench/refactor.py compare OLD NEW [--out bench/results/refactor.md]

``dump`` needs no compiler: it writes the CUDA source of every kernel that ships, at its usual
sizes, and of every call that ``bench/warm.py`` lists. ``compare`` compiles (NVRTC) those whose
source differs in more than comments, and compares the code sections of their cubins; where these
differ, the row has registers, spills and instructions of both.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import re
import struct
import sys
from pathlib import Path

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def module(*names):
    """The first of several names that this tree has."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {names} in this tree")


def without_compiler():
    """Everything but the compiler runs: cubins are empty."""
    compiled = module("warploom.compiler.compiled", "warploom.compiler.compiled")
    build = module("warploom.compiler.cubin", "warploom.compiler.cubin")

    def compile_source(source, **_):
        return build.Cubin(data=b"", toolchain="none", report=build.read_log(""))

    compiled.compile_source = compile_source


def shipped():
    kernels = importlib.import_module("warploom.cli.kernels")
    names = kernels.kernel_names()
    for name in names:

        def make(name=name):
            found = kernels.kernel_named(name)
            return found.lowered, found.compiled

        yield f"shipped {name}", make


def calls(parts):
    sys.path.insert(0, str(Path("bench").resolve()))
    warm = importlib.import_module("warm")
    for part in parts or warm.PARTS:
        for name, make in warm.PARTS[part]:
            yield f"{part} {name}", make


def source_of(made):
    """The CUDA of what a part of the list makes, with the name of its configuration."""
    if isinstance(made, tuple):
        lowered, _ = made
        emit = module("warploom.compiler.emit_cuda", "warploom.codegen.cuda.tile.source")
        return emit.emit_kernel(lowered).text, config_of(lowered).name
    return made.built.source.text, config_of(made).name


def config_of(made):
    """The configuration, under its present or its former name."""
    return made.config if hasattr(made, "config") else made.tiling


def dump(folder, parts):
    without_compiler()
    folder.mkdir(parents=True, exist_ok=True)
    index_file = folder / "index.json"
    index = json.loads(index_file.read_text()) if index_file.exists() else {}
    rows = [] if parts else list(shipped())
    for name, make in [*rows, *calls(parts)]:
        if name in index:
            continue
        try:
            text, config = source_of(make())
        except Exception as error:  # a refusal is a row, too
            index[name] = {"refused": f"{type(error).__name__}: {error}".splitlines()[0]}
        else:
            digest = hashlib.sha256(text.encode()).hexdigest()[:24]
            (folder / f"{digest}.cu").write_text(text)
            index[name] = {"source": digest, "config": config}
        index_file.write_text(json.dumps(index, indent=1))
        print(name, index[name], flush=True)


def code_sections(data):
    """The bytes of the sections of an ELF file that hold instructions."""
    start, size, number, names = struct.unpack_from("<Q10xHHH", data, 40)
    heads = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(number)]
    table = heads[names][4]
    found = {}
    for name, _, _, _, offset, length in heads:
        end = data.index(b"\0", table + name)
        said = data[table + name : end].decode()
        if said.startswith(".text"):
            found[said] = data[offset : offset + length]
    return found


def opcodes(sections):
    """The operations of code sections, without registers and addresses: 12 bits of 128."""
    return [
        [int.from_bytes(data[i : i + 2], "little") & 0xFFF for i in range(0, len(data), 16)]
        for data in sections
    ]


def compare(old, new, out):
    compile_source = module("warploom.compiler.cubin", "warploom.compiler.cubin").compile_source

    before, after = (json.loads((f / "index.json").read_text()) for f in (old, new))
    rows, renamed, same = [], [], 0
    for name, was in before.items():
        now = after.get(name)
        if now is None:
            rows.append((name, "not built", ""))
            continue
        if "refused" in was or "refused" in now:
            if ("refused" in was) != ("refused" in now):
                rows.append((name, was.get("refused", "built"), now.get("refused", "built")))
            else:
                same += 1
            continue
        texts = [(f / f"{r['source']}.cu").read_text() for f, r in ((old, was), (new, now))]
        if len({" ".join(COMMENT.sub(" ", t).split()) for t in texts}) == 1:
            same += 1
            continue
        cubins = [compile_source(t, name=name, checked=False) for t in texts]
        sections = [sorted(code_sections(c.data).values()) for c in cubins]
        if sections[0] == sections[1]:
            same += 1
            continue
        if opcodes(sections[0]) == opcodes(sections[1]):
            renamed.append(name)
            continue
        said = [
            f"{r['config']}: {c.report.registers} registers, {c.report.spill_bytes} spilled, "
            f"{sum(map(len, s)) // 16} instructions"
            for r, c, s in zip((was, now), cubins, sections, strict=True)
        ]
        rows.append((name, *said))
        print(rows[-1], flush=True)
    lines = [
        "# Machine code before and after",
        "",
        f"{same} of {len(before)} kernels have the same instructions, byte for byte;"
        f" {len(renamed)} the same opcodes in order, with other registers or branch targets;"
        " the others:",
        "",
        "| kernel | before | after |",
        "|---|---|---|",
        *(f"| {a} | {b} | {c} |" for a, b, c in rows),
        "",
    ]
    lines += ["The same opcodes: " + "; ".join(renamed) + "."] if renamed else []
    out.write_text("\n".join(lines) + "\n")
    print(f"{same} the same, {len(renamed)} with other registers, {len(rows)} not")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("dump", "compare"))
    parser.add_argument("where", type=Path)
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("bench/results/refactor.md"))
    args = parser.parse_args()
    if args.what == "dump":
        dump(args.where, args.rest)
    else:
        compare(args.where, Path(args.rest[0]), args.out)


if __name__ == "__main__":
    main()
