"""Several pictures as one: the loops of a tile, one after the other, each at its own interval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from warploom.view.drawing import number, page

_SIZE = re.compile(r'<svg xmlns="[^"]*" width="([\d.]+)" height="([\d.]+)"')


def stacked(pictures: Sequence[str]) -> str:
    """SVG files below each other in one."""
    if len(pictures) == 1:
        return pictures[0]
    parts, width, height = [], 0.0, 0.0
    for picture in pictures:
        found = _SIZE.match(picture)
        assert found is not None
        head = found[0].replace("<svg ", f'<svg y="{number(height)}" ', 1)
        parts.append(head + picture[found.end() :])
        width, height = max(width, float(found[1])), height + float(found[2])
    size = f'width="{number(width)}" height="{number(height)}"'
    view = f'viewBox="0 0 {number(width)} {number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">\n'
    return head + "".join(parts) + "</svg>\n"


def pages(title: str, parts: Sequence[tuple[str, str]]) -> str:
    """HTML pages as one, below a row of buttons; nothing is fetched. Keys 1, 2, ... choose, too."""
    if len(parts) == 1:
        return parts[0][1]
    buttons = "".join(
        f"<button data-page='{i}'{' aria-pressed=true' if not i else ''}>{escape(name)}</button>"
        for i, (name, _) in enumerate(parts)
    )
    frames = "".join(
        f'<iframe title="{escape(name)}" sandbox="allow-scripts" srcdoc="{escape(page)}"'
        f"{'' if not i else ' hidden'}></iframe>"
        for i, (name, page) in enumerate(parts)
    )
    return page("loops.html", title=escape(title), buttons=buttons, frames=frames)


def traces(parts: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Chrome traces as one: every loop has its own processes, named after it."""
    if len(parts) == 1:
        return parts[0][1]
    events: list[dict[str, Any]] = []
    for name, trace in parts:
        first = max((e["pid"] for e in events), default=0)
        for event in trace["traceEvents"]:
            moved = event | {"pid": event["pid"] + first}
            if event["name"] == "process_name":
                moved["args"] = {"name": f"{name}: {event['args']['name']}"}
            events.append(moved)
    others = [trace["otherData"] for _, trace in parts]
    joined = {key: "; ".join(str(o[key]) for o in others) for key in others[0]}
    return parts[-1][1] | {"traceEvents": events, "otherData": joined}
