"""Draws the pictures of the documentation when the site is built; none is committed."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from warploom import KernelGeometry, Pipeline4Wave, build_schedule, compile_schedule
from warploom.sim import mi355x_costs, simulate
from warploom.view import graph_svg, timeline_html, timeline_svg


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add generated pictures to the site."""
    for name, text in _pictures().items():
        files.append(File.generated(config, f"pictures/{name}", content=text))
    return files


def _pictures() -> dict[str, str]:
    pingpong = build_schedule(False, 8, 4)
    fourwave = compile_schedule(Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64))))
    out = {"pingpong_graph.svg": graph_svg(pingpong.body, pingpong.edges, name="pingpong")}
    for compiled, quadrant in ((pingpong, 256), (fourwave, 512)):
        sim = simulate(compiled.document(), mi355x_costs(mma_cycles=quadrant), trips=3)
        reasons = {(r.phase.name.lower(), r.index): r.text for r in compiled.reasons}
        out[f"{compiled.name}_timeline.svg"] = timeline_svg(sim)
        out[f"{compiled.name}_timeline.html"] = timeline_html(sim, reasons=reasons)
    return out
