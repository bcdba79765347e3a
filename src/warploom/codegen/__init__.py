"""From documents to code: CUDA C++ for Hopper, LLVM IR and HIP for gfx950."""
