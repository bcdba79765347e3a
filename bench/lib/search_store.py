"""Candidates of attention kernels on disk: one zip a kernel, with documents, binaries, predictions.

A candidate comes in two binaries: as the assembler orders it, and (name ending in ``h``) with holds
that keep vector work in front of the waits where the program has it.

Written where a compiler is, read where a GPU is; binaries travel as they are, so nothing is
compiled again. ``derive`` fills a store: enumerate, predict, emit with the clock read around every
tile, compile; what ptxas does not keep is dropped, and of equal binaries one stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import zipfile
from dataclasses import asdict, replace
from multiprocessing.pool import ThreadPool
from pathlib import Path

from warploom.document.roles_json import read_roles, write_roles
from warploom.emit.cuda import emit_attention
from warploom.emit.cuda.holds import Extended, held
from warploom.emit.cuda.stamps import Window, spanned, traced
from warploom.errors import BackendError
from warploom.hopper.attention import AttentionKernel
from warploom.hopper.candidates import (
    attention_candidates,
    document_digest,
    free_body,
)
from warploom.hopper.feedback import Corrections, Model, model_of
from warploom.hopper.kernel import Dtype
from warploom.launch.build import compile_source, find_toolchain
from warploom.launch.shipped import is_shipped, shipped_schedule

WINDOW = Window(first=8, count=12)
LATE = (1.3, 1.6)  # vector work that much longer: how a candidate bears what the prices leave out
VARIANTS = ("full", "causal", "trace")
HELD = "h"
WORKERS = 2


def kernel_of(fields):
    """The kernel from its JSON fields."""
    return AttentionKernel(**{**fields, "dtype": Dtype(fields["dtype"])})


def predictions(model: Model, document):
    """Simulated cycles a key tile: with the prices, and with longer vector work."""
    late = [replace(model, corrections=Corrections(vector=f)).interval(document) for f in LATE]
    return {"interval": model.interval(document), "late": late}


def binary(document, kernel, hold, variant):
    """The cubin of a variant; raises ``BackendError`` when ptxas voids the schedule."""
    kernel = replace(kernel, causal=variant == "causal")
    base = held(document) if hold else Extended(document=document, text="", ops={})
    stamp = traced(base.document, WINDOW) if variant == "trace" else spanned(base.document)
    whole = base.then(stamp)
    return compile_source(whole.text + emit_attention(whole.document, kernel, more=whole.ops)).data


def derive(kernel, folder, *, slacks, most, say=print):
    """Write the store of a kernel; returns its path."""
    if shutil.which("nvcc"):
        os.environ.setdefault("WARPLOOM_COMPILER", "nvcc")
    started = time.time()
    kernel = replace(kernel, causal=False)
    found = attention_candidates(kernel, slacks=slacks)
    say(f"{kernel.name}\n{found.text()}")
    model = model_of(found.found[0], free_body(kernel))
    rows = []
    for c in found.found:
        row = {"name": c.name, "program": c.programs.text(), "ii": c.result.ii}
        rows.append((c, {**row, **predictions(model, c.document)}))
    rows.sort(key=lambda r: (sum(r[1]["late"]), r[1]["interval"], r[0].name))
    chosen = document_digest(shipped_schedule(kernel.name)) if is_shipped(kernel) else None
    wanted = [r for r in rows if r[0].name == chosen] + [r for r in rows if r[0].name != chosen]
    wanted = wanted[:most]
    path = Path(folder) / f"{kernel.name}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept, refused = _build(path, kernel, wanted, say)
    facts = {
        "kernel": asdict(kernel),
        "name": kernel.name,
        "claim": found.text().splitlines(),
        "slacks": list(slacks),
        "complete": found.complete,
        "candidates": len(rows),
        "built": len(wanted),
        "kept": kept,
        "refused": refused,
        "shipped": chosen,
        "toolchain": find_toolchain(),
        "window": asdict(WINDOW),
    }
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as store:
        store.writestr("kernel.json", json.dumps(facts, indent=1))
    say(f"{len(kept)} of {2 * len(wanted)} kept, {time.time() - started:.0f} s, {path}")
    return path


def _build(path, kernel, rows, say):
    """Binaries of all rows into the zip; of equal ones the first."""
    kept, refused, seen = [], [], {}
    jobs = [(c, {**row, "name": c.name + tag}, bool(tag)) for c, row in rows for tag in ("", HELD)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as store, ThreadPool(WORKERS) as pool:
        for c, _ in rows:
            store.writestr(f"{c.name}.json", write_roles(c.document))
        for row, data in pool.imap(lambda job: _one(kernel, *job), jobs):
            key = hashlib.sha256(data.get("full", b"")).hexdigest()
            if "full" not in data:
                refused.append({**row, "why": row["without"]["full"]})
            elif key in seen:
                refused.append({**row, "why": f"the same binary as {seen[key]}"})
            else:
                seen[key] = row["name"]
                kept.append(row)
                for variant, cubin in data.items():
                    store.writestr(f"{row['name']}.{variant}.cubin", cubin)
            done = len(kept) + len(refused)
            if done % 20 == 0:
                say(f"  {done} of {len(jobs)}: {len(kept)} kept")
    return kept, refused


def _one(kernel, c, row, hold):
    """(row, binaries by variant); where ptxas does not keep one, the row says why."""
    data, row["without"] = {}, {}
    for variant in VARIANTS if hold else VARIANTS[:2]:
        try:
            data[variant] = binary(c.document, kernel, hold, variant)
        except BackendError as error:
            row["without"][variant] = error.why or error.what
            if variant == "full":
                break
    return row, data


class Store:
    """A store, opened for reading."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.facts = json.loads(self.zip.read("kernel.json"))
        self.kernel = kernel_of(self.facts["kernel"])
        self.rows = {r["name"]: r for r in self.facts["kept"]}

    def document(self, name):
        return read_roles(self.zip.read(f"{name.removesuffix(HELD)}.json"))

    def stamped(self, name):
        """The document of the binary: with its holds."""
        document = self.document(name)
        return held(document).document if name.endswith(HELD) else document

    def cubin(self, name, variant):
        """The binary, or None where ptxas did not keep that variant."""
        entry = f"{name}.{variant}.cubin"
        return self.zip.read(entry) if entry in self.zip.namelist() else None


def stores(folder):
    """All stores of a folder, by kernel name."""
    return [Store(p) for p in sorted(Path(folder).glob("*.zip"))]
