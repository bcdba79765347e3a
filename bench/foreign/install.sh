#!/bin/sh
# Environments of other compilers, outside of this project: install.sh FOLDER
# Then, with this project's check/adapters.py importable as warploom.check.adapters:
#   FOLDER/triton/bin/python bench/foreign/triton_kernels.py OUT
#   FOLDER/triton/bin/python bench/foreign/gluon_kernels.py OUT
#   FOLDER/tilelang/bin/python bench/foreign/tilelang_kernels.py OUT    (needs nvcc)
#   triton_more.py and tilelang_more.py in the same way
#   FOLDER/cute/bin/python bench/foreign/cute_kernels.py OUT
#   python bench/foreign/run.py OUT --json results.json
set -eu
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
for name in triton tilelang cute; do
  python3 -m venv "$folder/$name"
done
"$folder/triton/bin/pip" install "triton>=3.8,<3.10" numpy
"$folder/tilelang/bin/pip" install tilelang torch
"$folder/cute/bin/pip" install nvidia-cutlass-dsl
# Only the adapters: no part of this project is installed there.
for name in triton tilelang cute; do
  site=$("$folder/$name/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  mkdir -p "$site/warploom/check"
  touch "$site/warploom/__init__.py" "$site/warploom/check/__init__.py"
  cp "$here/../../src/warploom/check/adapters.py" "$site/warploom/check/adapters.py"
done
