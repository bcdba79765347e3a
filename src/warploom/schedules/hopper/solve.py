"""Solving the Hopper GEMM body: the only module here that needs the modulo solver."""

from __future__ import annotations

from warploom.interchange.roles import RolesDocument
from warploom.modulo import ModuloOptions, ModuloResult, solve_modulo
from warploom.schedules.hopper.gemm import gemm_problem, roles_of
from warploom.schedules.hopper.kernel import GemmKernel
from warploom.target.h200 import HopperTarget, h200


def solve_gemm(
    kernel: GemmKernel, target: HopperTarget | None = None, options: ModuloOptions | None = None
) -> ModuloResult:
    """The body's schedule of least initiation interval, with its proof."""
    return solve_modulo(gemm_problem(kernel, target or h200()), options)


def derive_gemm(
    kernel: GemmKernel, target: HopperTarget | None = None, options: ModuloOptions | None = None
) -> RolesDocument:
    """Solve the body and derive the synchronised programs of producer and consumers."""
    return roles_of(solve_gemm(kernel, target, options), kernel, target)
