"""``IrText``: the growing text of one function body, with fresh value names."""

from __future__ import annotations


class IrText:
    """Lines of LLVM IR. The only mutable thing of the lowering; lives for one emission."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        self._fresh = 0

    def add(self, line: str) -> None:
        """Append one instruction."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.block = name
        self.lines.append(f"{name}:")

    def comment(self, text: str) -> None:
        """Append a comment, so that the IR can be read beside the schedule."""
        self.lines.append(f"  ; {text}")

    def value(self, instruction: str, name: str = "") -> str:
        """Append ``%x = instruction`` and return ``%x``."""
        if not name:
            self._fresh += 1
            name = f"v{self._fresh}"
        self.add(f"%{name} = {instruction}")
        return f"%{name}"

    # Integer arithmetic that folds what is known, so that the IR stays clean without an optimiser.

    def sum(self, a: str, b: int | str) -> str:
        """``a + b``."""
        return a if b in (0, "0") else self.value(f"add i32 {a}, {b}")

    def times(self, a: str, b: int | str) -> str:
        """``a * b``."""
        if isinstance(b, int) and b & (b - 1) == 0 and b > 0:
            return a if b == 1 else self.value(f"shl i32 {a}, {b.bit_length() - 1}")
        return self.value(f"mul i32 {a}, {b}")

    def over(self, a: str, b: int) -> str:
        """``a / b`` for unsigned ``a``."""
        if b & (b - 1) == 0:
            return a if b == 1 else self.value(f"lshr i32 {a}, {b.bit_length() - 1}")
        return self.value(f"udiv i32 {a}, {b}")

    def modulo(self, a: str, b: int) -> str:
        """``a % b`` for unsigned ``a``."""
        if b & (b - 1) == 0:
            return self.value(f"and i32 {a}, {b - 1}")
        return self.value(f"urem i32 {a}, {b}")
