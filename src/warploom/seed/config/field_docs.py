"""Descriptions of config fields, read from the ``Attributes`` section of their class."""

from __future__ import annotations

import inspect


def field_docs(cls: type) -> dict[str, str]:
    """Field name -> description."""
    docs: dict[str, str] = {}
    name = ""
    for line in (inspect.getdoc(cls) or "").partition("Attributes:")[2].splitlines():
        indent = len(line) - len(line.lstrip())
        head, colon, rest = line.strip().partition(": ")
        if colon and indent == 4 and head.isidentifier():
            name = head
            docs[name] = rest
        elif name and line.strip():
            docs[name] += " " + line.strip()
    return docs
