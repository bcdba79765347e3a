"""Draws the pictures of the documentation when the site is built; none is committed."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from warploom import (
    DeclarativeSchedule,
    KernelGeometry,
    Pipeline4Wave,
    PipelineSchedule,
    SyncPolicy,
    compile_schedule,
    mi355x_costs,
    simulate,
)
from warploom.hopper import GemmKernel
from warploom.hopper.pricing import gemm_costs
from warploom.launch.shipped import shipped_schedule
from warploom.sim import simulate_roles
from warploom.view import graph_svg, steady_window, timeline_html, timeline_svg


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pictures to the site."""
    geometry = KernelGeometry.four_wave((256, 256, 64))
    pictures = {
        **_counter_target("pingpong", DeclarativeSchedule(lgkm_a=8, lgkm_b=4), 256),
        **_counter_target("fourwave", Pipeline4Wave(geometry), 512),
        **_hopper(GemmKernel(tile_m=128, tile_n=256)),
    }
    for name, text in pictures.items():
        files.append(File.generated(config, f"pictures/{name}", content=text))
    return files


def _counter_target(name: str, schedule: PipelineSchedule, mma: int) -> dict[str, str]:
    compiled = compile_schedule(schedule, sync=SyncPolicy.PROVEN_WEAKEST)
    document = compiled.document()
    sim = simulate(document, mi355x_costs(mma_cycles=mma), trips=6)
    reasons = {(r.phase.name, r.index): r.text for r in compiled.reasons}
    return {
        f"{name}.svg": timeline_svg(sim),
        f"{name}_steady.svg": timeline_svg(sim, window=steady_window(sim)),
        f"{name}.html": timeline_html(sim, reasons=reasons),
        f"{name}_graph.svg": graph_svg(document.body, document.edges, name=name),
    }


def _hopper(kernel: GemmKernel) -> dict[str, str]:
    sim = simulate_roles(shipped_schedule(kernel.name), gemm_costs(kernel), trips=8, tiles=2)
    return {"hopper_gemm.svg": timeline_svg(sim), "hopper_gemm.html": timeline_html(sim)}
