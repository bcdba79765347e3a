"""The modulo scheduler applied to seed bodies, and the way back to blocks."""
