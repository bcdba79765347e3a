"""Writes and executes ``first_look.ipynb``: a schedule from its ops to its timeline.

usage: python examples/make_notebook.py [OUT.ipynb]
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

HERE = Path(__file__).parent

CELLS = (
    (
        "text",
        """# A first look at a schedule

A ping-pong matmul for MI355X: two groups of four waves take turns on the matrix unit. We compile
it, look at its dependences, prove it, and run it on a model of the chip.""",
    ),
    (
        "code",
        """from warploom import (
    DeclarativeSchedule,
    LoopBody,
    SyncPolicy,
    compile_schedule,
    mi355x_costs,
    simulate,
    verify,
)
from warploom.viz.notebook import InteractiveTimeline

schedule = DeclarativeSchedule(lgkm_a=8, lgkm_b=4)
compiled = compile_schedule(schedule, sync=SyncPolicy.PROVEN_WEAKEST)
compiled  # hover over a wait to read why it is there""",
    ),
    (
        "text",
        """## What depends on what

Solid edges carry data, dashed ones keep a buffer from being overwritten too early. The red cycle
bounds the initiation interval: with one buffer a slot, a load and the read of it alternate.""",
    ),
    ("code", "LoopBody.of(compiled.body, compiled.edges)"),
    ("text", "## Is it right, for every timing and every trip count?"),
    (
        "code",
        """document = compiled.document()
verify(document)""",
    ),
    (
        "text",
        """## How fast is it?

The simulator runs all waves against the chip's costs. `ii` is exact once the run repeats.""",
    ),
    (
        "code",
        """sim = simulate(document, mi355x_costs(), trips=6)
print(f"II {sim.ii:g} cycles, exact: {sim.steady}; {sim.bound.unit} needs {sim.bound.bound}")
for site in sim.sites[:5]:
    print(f"{site.cycles:6} cycles at {site.phase} {site.index} {site.label}: {site.cause}")
sim""",
    ),
    (
        "text",
        """The same, to zoom into: wheel and drag move, a click explains. (One wave stands for
the four of its group here, to keep the page small.)""",
    ),
    (
        "code",
        """reasons = {(r.phase.name, r.index): r.text for r in compiled.reasons}
InteractiveTimeline(
    simulate(document, mi355x_costs(), trips=3, waves=1), height=560, reasons=reasons
)""",
    ),
    ("text", "## As text, for a terminal or a commit message"),
    (
        "code",
        """from warploom.viz import steady_window, timeline_text

print(timeline_text(sim, width=110, window=steady_window(sim, 1)))""",
    ),
)


def build() -> nbformat.NotebookNode:
    """The notebook, not yet executed; cell ids are fixed, so that runs compare equal."""
    make = {"text": new_markdown_cell, "code": new_code_cell}
    cells = [make[kind](text, id=f"cell{i}") for i, (kind, text) in enumerate(CELLS)]
    return new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )


def execute(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run every cell in a fresh kernel; what varies from run to run is taken out."""
    NotebookClient(notebook, timeout=120, record_timing=False).execute()
    notebook.metadata.pop("language_info", None)
    return notebook


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "first_look.ipynb"
    nbformat.write(execute(build()), target)
    print(f"wrote {target}")
