"""Solving the Hopper bodies: the only module here that needs the modulo solver."""

from __future__ import annotations

from warploom.document.roles import RolesDocument
from warploom.hopper.attention import (
    AttentionKernel,
    attention_problem,
    attention_roles,
)
from warploom.hopper.candidates import candidate_of
from warploom.hopper.gemm import gemm_problem, roles_of
from warploom.hopper.kernel import GemmKernel
from warploom.order import ModuloOptions, ModuloResult, solve_modulo
from warploom.order.alike import solve_alike
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


def solve_attention(
    kernel: AttentionKernel,
    target: HopperTarget | None = None,
    options: ModuloOptions | None = None,
) -> ModuloResult:
    """The body's schedule of least initiation interval, with one program for all consumers."""
    if kernel.program:
        return candidate_of(kernel, target, options).result
    problem = attention_problem(kernel, target or h200())
    return solve_alike(problem, kernel.roles(), kernel.op_names(), options)


def derive_attention(
    kernel: AttentionKernel,
    target: HopperTarget | None = None,
    options: ModuloOptions | None = None,
) -> RolesDocument:
    """Solve the body and derive the synchronised programs of producer and consumers."""
    return attention_roles(solve_attention(kernel, target, options), kernel, target)
