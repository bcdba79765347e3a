"""The same kernel as readable HIP C++."""
