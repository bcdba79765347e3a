"""Everything warploom raises or warns about.

Every error carries four parts, as attributes and in its text: ``what`` is wrong, ``where`` (op,
block, field), ``why`` it matters and how to ``fix`` it.
"""

from __future__ import annotations

from typing import Self


class WarploomError(Exception):
    """Base of all errors raised on purpose by warploom."""

    def __init__(self, what: str, *, where: str = "", why: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix
        parts = [what]
        parts += [f"  {k:<5} {v}" for k, v in (("where", where), ("why", why), ("fix", fix)) if v]
        super().__init__("\n".join(parts))

    def anew(self) -> Self:
        """The same error, raised nowhere yet: one that is kept must not keep callers' values."""
        result = type(self).__new__(type(self), *self.args)
        result.__dict__.update(self.__dict__)
        return result


def cannot_read(path: object, error: OSError | UnicodeError) -> str:
    """What is said of every file that cannot be read, by every command and function."""
    reason = "not a text file" if isinstance(error, UnicodeError) else error.strerror or str(error)
    return f"cannot read {path}: {reason}"


class FileError(WarploomError):
    """A file that was named cannot be read."""


class ConfigError(WarploomError):
    """A configuration value or combination of values is impossible."""


class GeometryError(WarploomError):
    """Tile shape, MMA shape and dtype give no valid kernel geometry."""


class CostModelError(WarploomError):
    """The cost model has no price for an op, or an impossible one."""


class GraphError(WarploomError):
    """Dependence edges are malformed."""


class CycleError(GraphError):
    """Edges of distance 0 form a cycle, so no order exists."""


class SchedulingError(WarploomError):
    """No order could be derived."""


class InfeasibleError(SchedulingError):
    """No order meets the constraints.

    ``smallest_feasible`` is the smallest budget with which one exists, when that is the question.
    """

    def __init__(self, what: str, *, smallest_feasible: int | None = None, **parts: str) -> None:
        super().__init__(what, **parts)
        self.smallest_feasible = smallest_feasible


class ProgramError(WarploomError):
    """The ordered ops do not fit the block structure."""


class StructureError(ProgramError):
    """A structural check on the built program failed; ``check`` names it."""

    def __init__(self, what: str, *, check: str, **parts: str) -> None:
        super().__init__(what, **parts)
        self.check = check


class SyncError(WarploomError):
    """Waits and barriers cannot be derived for a schedule."""


class OrderError(SyncError):
    """The order itself loses or mixes tiles; no wait can repair it. ``code`` names the finding."""

    def __init__(self, what: str, *, code: str, **parts: str) -> None:
        super().__init__(what, **parts)
        self.code = code


class PhaseError(WarploomError):
    """Prologue, kernel or epilogue cannot be derived."""


class DocumentError(WarploomError):
    """A schedule document is malformed; ``path`` points inside it."""

    def __init__(self, what: str, *, path: str = "$", why: str = "", fix: str = "") -> None:
        super().__init__(what, where=path, why=why, fix=fix)
        self.path = path


class TooLargeError(DocumentError):
    """A document is more than a verdict may take; nothing is said of what it holds."""


class SimulationError(WarploomError):
    """A schedule cannot be run to its end: rows wait for ever, or the run is too long."""


class InterpreterError(WarploomError):
    """A module cannot be executed, or an execution went wrong: deadlock, fault, out of bounds."""


class VerificationError(WarploomError):
    """A schedule was checked and found to race; ``report`` holds every finding."""

    def __init__(self, what: str, *, report: object = None, **parts: str) -> None:
        super().__init__(what, **parts)
        self.report = report


class BackendError(WarploomError):
    """Code generation, compilation or launch failed."""


class MissingExtraError(WarploomError):
    """An optional dependency is not installed; the message names the extra to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed",
            fix=f"pip install {package}; in a clone: pip install -e '.[{extra}]'",
        )
        self.package = package
        self.extra = extra


class KernelError(WarploomError):
    """The source of a tile kernel is wrong; ``file`` and ``line`` point at the author's line."""

    def __init__(self, what: str, *, file: str = "", line: int = 0, **parts: str) -> None:
        super().__init__(what, **parts)
        self.file = file
        self.line = line


class KernelSyntaxError(KernelError):
    """Python that the tile language does not have."""


class KernelNameError(KernelError):
    """A name that means nothing at that place."""


class KernelShapeError(KernelError):
    """Shapes that do not go together."""


class KernelTypeError(KernelError):
    """A value of the wrong kind or element type."""


class KernelMemoryError(KernelError):
    """A load or a store that cannot be meant."""


class KernelCallError(KernelError):
    """A kernel is called, or made for types, that do not fit its signature."""


class CheckError(WarploomError):
    """Machine code or a launch file for ``check`` cannot be read; ``line`` is the file's."""

    def __init__(self, what: str, *, line: int = 0, **parts: str) -> None:
        super().__init__(what, **parts)
        self.line = line


class UnsupportedCodeError(CheckError):
    """An instruction or feature that ``check`` does not model; it is never guessed past."""


class WarploomWarning(UserWarning):
    """Base of all warnings given by warploom."""


class NoEffectWarning(WarploomWarning):
    """A setting has no effect in its combination; the documented result stands."""


class ForcedSettingWarning(WarploomWarning):
    """A schedule replaces a setting of the caller, as documented."""


class CacheWarning(WarploomWarning):
    """A cache that cannot be used as it stands; what it would hold is made anew."""


class OverBudgetWarning(WarploomWarning):
    """No order keeps the register budget, which is a hint; the order given exceeds it."""
