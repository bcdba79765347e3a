# ruff: noqa: E501 (written by a script)
"""Skeletons of shipped kernels of which anything was measured (``compiler.similar``).

Written by ``scripts/write_skeletons.py``; a test compares it with the kernels.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """A form of a shipped kernel: variables with their axes, and loaded tiles, by number."""

    name: str
    choices: tuple[tuple[str, object], ...]
    vars: tuple[str, ...]
    axes: tuple[str, ...]
    tensors: tuple[str, ...]
    bits: tuple[int, ...]


# fmt: off
SKELETONS: dict[str, tuple[Entry, ...]] = {
    "022e222afefd72aa": (
        Entry("attention", (("causal", True),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "0c0dfca0a688b032": (
        Entry("int4_gemm", (), ("m", "n", "k"), ("m", "n", "k"), ("w", "x"), (8, 16)),
    ),
    "0cee5c88abcf2260": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "0d1f98403cd96ced": (
        Entry("blocked", (("causal", False),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
        Entry("blocked", (("causal", True),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "1925c634d9eb6192": (
        Entry("block_scaled", (), ("m", "n", "k"), ("m", "n", "k"), ("a", "b"), (8, 8)),
    ),
    "27762c6b7b056c2e": (
        Entry("block_scaled_pair", (), ("m", "n", "k"), ("m", "n", "k"), ("a", "b"), (8, 8)),
    ),
    "2bc24ccdca9d92b7": (
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "2d0eba4995898f54": (
        Entry("grouped_weights", (), ("n", "k", "t"), ("n", "k", "t"), ("y", "x"), (16, 16)),
    ),
    "326dca63e2a37297": (
        Entry("packed_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "3280f698373cff41": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "3adc9776710e6d5d": (
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "3e49694b36302868": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "4c3b0ae66a8fa525": (
        Entry("grouped_gathered", (), ("t", "n", "k"), ("t", "n", "k"), ("x", "w"), (16, 16)),
    ),
    "4c9bb23d452554f0": (
        Entry("blocked", (("causal", True),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "50ae387bf5cc3b6a": (
        Entry("scan", (), ("e", "r", "d", "c", "t", "j"), ("e", "r", "d", "c", "t", "j"), ("left", "q", "k", "v"), (32, 16, 16, 16)),
    ),
    "54e9efa7b75ca25c": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "56e0766189059554": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "575f3ca8fe4cf013": (
        Entry("blocked", (("causal", False),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "5819121e24cfee19": (
        Entry("grouped_scaled", (), ("t", "n", "k"), ("t", "n", "k"), ("x", "w"), (8, 8)),
    ),
    "6023fb10248e752c": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "622b2bf1a5f99f30": (
        Entry("grouped_input", (), ("t", "n", "k"), ("t", "n", "k"), ("x", "w"), (16, 16)),
    ),
    "67cd933031884bbe": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "6a665e1010c73406": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "6aa120688f3fe267": (
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "734a1d8a6b4abccf": (
        Entry("scan_parts", (), ("e", "c", "j", "d"), ("e", "c", "j", "d"), ("k", "v"), (16, 16)),
    ),
    "769816c9dc2881d1": (
        Entry("blocked_values", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
        Entry("blocked_values", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "7bbb2ae385c01999": (
        Entry("attention", (("causal", True),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "83124e17bbc66da5": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "92ce9a349e21dc8c": (
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "96453dc10b4e8794": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "9694757d953316cf": (
        Entry("values_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "9ccd7126ead3b237": (
        Entry("blocked_values", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
        Entry("blocked_values", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "9d344879999a3263": (
        Entry("packed_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "a04ecbc1c258bc5d": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "a1f13ec46c925482": (
        Entry("grouped", (), ("t", "n", "k"), ("t", "n", "k"), ("x", "w"), (16, 16)),
        Entry("grouped_scattered", (), ("t", "n", "k"), ("t", "n", "k"), ("x", "w"), (16, 16)),
    ),
    "a3c56fd1590982d6": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "a6e11210bf55f0d5": (
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "a986adb59842a8d0": (
        Entry("fp8_gemm", (), ("m", "n", "k"), ("m", "n", "k"), ("w", "x"), (8, 16)),
    ),
    "aa083a9a1f8ea999": (
        Entry("packed_values", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "abffabe6f60c63ae": (
        Entry("swiglu", (), ("m", "n", "k"), ("m", "n", "k"), ("x", "gate", "up"), (16, 16, 16)),
    ),
    "b2671e6292290a26": (
        Entry("blocked", (("causal", False),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "b437fe868792660d": (
        Entry("packed_values", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "b5270aa8e5dbbcd3": (
        Entry("blocked_values", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "b6e38181aa978333": (
        Entry("attention", (("causal", False),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "bdc2e3e705da0422": (
    ),
    "be8540135d5649ae": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "c0225ee4eb525460": (
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "c29568eb535be28c": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "c67e6ee1ec08247d": (
        Entry("attention", (("causal", False),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "c7b93f5ee8be4082": (
        Entry("blocked", (("causal", False),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
        Entry("blocked", (("causal", True),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "caf26a23b392ffa5": (
        Entry("packed_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "d01ffefc0ad0c23d": (
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "dc56148c73d5229f": (
        Entry("packed_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "e45eda109b8abd67": (
        Entry("values_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
        Entry("values_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "e8abb1e4471274a1": (
        Entry("blocked_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "e917a8f3c9836c45": (
        Entry("blocked", (("causal", True),), ("s", "d", "t"), ("s", "d", "t"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "ed86edba31c25a9f": (
        Entry("blocked_values", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "q", "do"), (16, 16, 16)),
    ),
    "edad60ea354e9232": (
        Entry("scan", (), ("e", "c", "t", "d", "j"), ("e", "c", "t", "d", "j"), ("q", "k", "v"), (16, 16, 16)),
    ),
    "f97ce30d9ab42da0": (
        Entry("attention_grad", (("causal", False),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
        Entry("attention_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
    "fadc1a0217077f0f": (
        Entry("blocked_grad", (("causal", True),), ("t", "d", "s"), ("t", "d", "s"), ("k", "v", "q", "do"), (16, 16, 16, 16)),
    ),
}
# fmt: on
