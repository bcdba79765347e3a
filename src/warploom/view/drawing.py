"""A very small SVG writer: shapes as strings, escaped, with stable number formats; and pages."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files


def number(value: float) -> str:
    """A coordinate with at most one decimal and no trailing zero."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def asset(name: str) -> str:
    """The text of a file that pictures are made of."""
    return files("warploom.view").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def page(file: str, **parts: str) -> str:
    """A page of the assets; ``__TITLE__`` in it stands for the part ``title``."""
    return re.sub("__([A-Z_]+)__", lambda found: parts[found[1].lower()], asset(file))


class Drawing:
    """Collects shapes in painting order."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, css: str, **attrs: str) -> None:
        """A rectangle; ``title`` among the attributes becomes its tooltip."""
        place = f'x="{number(x)}" y="{number(y)}"'
        size = f'width="{number(width)}" height="{number(height)}"'
        self._shape("rect", f"{place} {size}", css, attrs)

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str, **attrs: str) -> None:
        """A straight line."""
        ends = (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))
        self._shape("line", " ".join(f'{k}="{number(v)}"' for k, v in ends), css, attrs)

    def path(self, d: str, css: str, **attrs: str) -> None:
        """A path in SVG's own notation."""
        self._shape("path", f'd="{d}"', css, attrs)

    def text(self, x: float, y: float, words: str, css: str, **attrs: str) -> None:
        """A piece of text with its base line at ``y``."""
        place = f'x="{number(x)}" y="{number(y)}"'
        self.parts.append(f'<text {place} class="{css}"{_attributes(attrs)}>{escape(words)}</text>')

    def open_group(self, css: str, **attrs: str) -> None:
        """Begin a group."""
        self.parts.append(f'<g class="{css}"{_attributes(attrs)}>')

    def close_group(self) -> None:
        """End the latest group."""
        self.parts.append("</g>")

    def _shape(self, name: str, geometry: str, css: str, attrs: dict[str, str]) -> None:
        title = attrs.pop("title", "")
        head = f'<{name} {geometry} class="{css}"{_attributes(attrs)}'
        if title:
            self.parts.append(f"{head}><title>{escape(title)}</title></{name}>")
        else:
            self.parts.append(f"{head}/>")

    def document(self, width: float, height: float, style: str, title: str, defs: str = "") -> str:
        """The finished picture as a standalone SVG file."""
        size = f'width="{number(width)}" height="{number(height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {number(width)} {number(height)}" role="img">\n'
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n<defs>{defs}</defs>\n"
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def _attributes(attrs: dict[str, str]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attrs.items()
    )
