"""A NumPy interpreter of gfx950 assembly with adversarial asynchrony."""
