"""Running emitted kernels: choose, compile, cache, launch. Nothing is loaded on import."""
