"""From a tile kernel to role programs: tile, lay out, fuse, relate, price, schedule, guard."""
