"""Room view: pictures of schedules. It reads simulator events and graphs, and never simulates."""

from warploom.view.graph import graph_dot, graph_svg, recurrence_text
from warploom.view.html import timeline_html
from warploom.view.recurrence import critical_recurrence
from warploom.view.scene import representative_rows, steady_window
from warploom.view.svg import timeline_svg
from warploom.view.text import timeline_strip, timeline_text
from warploom.view.timeline import perfetto_trace, timeline
