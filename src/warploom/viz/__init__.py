"""Pictures of schedules. It reads simulator events and graphs, and never simulates."""

from warploom.viz.graph import graph_dot, graph_svg, recurrence_text
from warploom.viz.html import timeline_html
from warploom.viz.recurrence import critical_recurrence
from warploom.viz.scene import representative_rows, steady_window
from warploom.viz.svg import timeline_svg
from warploom.viz.text import timeline_strip, timeline_text
from warploom.viz.timeline import perfetto_trace, timeline
