"""Room view: pictures of schedules. It reads simulator events and graphs, and never simulates."""

from warploom.view.html import timeline_html
from warploom.view.svg import timeline_svg
from warploom.view.text import timeline_text

__all__ = ["timeline_html", "timeline_svg", "timeline_text"]
