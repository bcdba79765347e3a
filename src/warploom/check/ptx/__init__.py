"""PTX: reader, interpreter, clocks, barriers, asynchronous copies and products."""
