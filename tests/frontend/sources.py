"""Python text made on the spot that ``inspect`` can find again."""

import itertools
import linecache

_number = itertools.count()


def run_source(text, **names):
    """Run a text as if it stood in a file; the names it binds."""
    file = f"<text {next(_number)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = dict(names)
    exec(compile(text, file, "exec"), space)
    return space
