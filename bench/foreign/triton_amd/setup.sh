#!/bin/sh
# An environment with Triton, outside the checkout: setup.sh FOLDER [VERSION]
set -e
python3 -m venv "$1"
"$1/bin/pip" install -q "triton==${2:-3.9.0}" numpy
