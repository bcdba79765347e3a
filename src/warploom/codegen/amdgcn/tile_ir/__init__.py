"""Wave programs of tile kernels as LLVM IR, and launches of their machine code on the CPU."""
