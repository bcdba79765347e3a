"""Runs in its own process: LLVM IR on stdin, assembly (or object) as JSON on stdout.

LLVM ends the process on a fatal error (an unsupported intrinsic, a broken immediate); run here,
that costs one worker and not the caller. The mid-end optimiser is not run: it may move waits.
"""

import base64
import json
import sys

TRIPLE = "amdgcn-amd-amdhsa"


def compile_kernel(ir: str, form: str, cpu: str) -> dict[str, str]:
    """A module as ``assembly`` text or base64 ``object``, or both (joined by ``+``), with the
    versions used.
    """
    import llvmlite  # noqa: PLC0415
    import llvmlite.binding as llvm  # noqa: PLC0415

    # A read would sink into the block that uses it, past the barrier that protects its slot.
    llvm.set_option("", "--disable-machine-sink")
    # Strength reduction asks of every pair of addresses whether one may be poison where the other
    # is not, which takes ten times as long as all other passes. Here none may: integer arithmetic
    # has no flags, and the addresses that are marked as inside of LDS are.
    llvm.set_option("", "--enable-poison-reuse-guard=0")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target, results = llvm.Target.from_triple(TRIPLE), {}
    for each in form.split("+"):  # of a module of its own: generating code changes it
        machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic")
        module = llvm.parse_assembly(ir)
        module.verify()
        if each == "object":
            results[each] = base64.b64encode(machine.emit_object(module)).decode()
        else:
            results[each] = machine.emit_assembly(module)
    return {
        **results,
        "llvm": ".".join(str(v) for v in llvm.llvm_version_info),
        "llvmlite": llvmlite.__version__,
    }


def main() -> int:
    """Compile stdin. Python-level errors go to stderr as one line."""
    try:
        result = compile_kernel(sys.stdin.read(), sys.argv[1], sys.argv[2])
    except RuntimeError as error:
        print(str(error).strip(), file=sys.stderr)
        return 1
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
