"""The content-addressed cache on disk: what was compiled, solved or measured before.

An entry is a file ``KIND/KE/KEY`` below the folder; ``KEY`` is the digest of everything the entry
follows from. The file begins with a line that names format, kind, key, length and digest, and the
digest covers kind, key and bytes. An entry that is missing, cut short, changed, or filed under
another name is no entry: it is made again.

A digest does not stop somebody who may write to the folder. So the folder is private: it and those
in it are made with mode 0700, and where other users may write to one of them its entries are not
used (``CacheWarning``).

``WARPLOOM_CACHE`` is the folder. ``WARPLOOM_CACHE_REMOTE`` names a second place that many machines
share, a folder or any store of fsspec (``s3://...``; extra ``remote``). Others may write there, so
its entries carry an HMAC with the secret ``WARPLOOM_CACHE_KEY``; an entry with another one is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import warnings
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from warploom.dataclass import dataclass
from warploom.errors import CacheWarning, ConfigError, MissingExtraError

FORMAT = b"warploom-cache 1"
KINDS = (
    *(
        "binary",
        "cubin",
        "executed",
        "limit",
        "order",
        "refusal",
        "source",
        "trial",
        "tuned",
        "visits",
    ),
)
FOLDER, REMOTE, SECRET = "WARPLOOM_CACHE", "WARPLOOM_CACHE_REMOTE", "WARPLOOM_CACHE_KEY"
Sign = Callable[[bytes], str]
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the local folder."""

    kind: str
    key: str
    size: int
    modified: float


class Remote(Protocol):
    """A place for bytes by name; errors of any kind mean that it cannot be reached now."""

    def read(self, name: str) -> bytes | None:
        """The bytes under a name, if there are any."""

    def write(self, name: str, data: bytes) -> None:
        """Keep bytes under a name."""


def digest(*parts: object) -> str:
    """The key of what follows from these parts, in this order."""
    joined = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        joined.update(f"{len(data)}:".encode())
        joined.update(data)
    return joined.hexdigest()[:40]


def default_cache() -> Path:
    """The local folder."""
    chosen = os.environ.get(FOLDER)
    return Path(chosen) if chosen else Path.home() / ".cache" / "warploom"


class DiskCache:
    """A local folder, and perhaps a place that machines share."""

    def __init__(self, folder: Path, remote: Remote | None = None, secret: bytes = b"") -> None:
        self.folder, self.remote, self.secret = folder, remote, secret

    def get(self, kind: str, key: str) -> bytes | None:
        """What is kept under a key; None for nothing, and for anything damaged."""
        result = self._read(kind, key)
        if result is not None:
            return result
        if self.remote is None:
            return None
        try:
            data = self.remote.read(_name(kind, key))
        except Exception as error:
            _unreachable(str(self.remote), repr(error))
            return None
        result = None if data is None else _opened(kind, key, data, self._sign)
        if result is not None:
            self._write(kind, key, result)
        return result

    def put(self, kind: str, key: str, data: bytes) -> None:
        """Keep bytes; a cache that cannot be written costs time later, and nothing else."""
        self._write(kind, key, data)
        if self.remote is not None:
            try:
                self.remote.write(_name(kind, key), _sealed(kind, key, data, self._sign))
            except Exception as error:
                _unreachable(str(self.remote), repr(error))

    def drop(self, kind: str, key: str) -> None:
        """Forget an entry of the local folder."""
        if usable(self.folder):
            self._path(kind, key).unlink(missing_ok=True)

    def entries(self, kinds: Collection[str] = KINDS) -> Iterator[Entry]:
        """The entries of the local folder, by kind and key."""
        for kind in sorted(kinds):
            for path in sorted((self.folder / kind).glob("??/*")):
                if len(path.name) == 40:
                    about = path.stat()
                    yield Entry(kind, path.name, about.st_size, about.st_mtime)

    def clear(self, kinds: Collection[str] = KINDS) -> tuple[int, int]:
        """Remove entries of the local folder, and nothing else there; how many, how many bytes."""
        count = size = 0
        for entry in list(self.entries(kinds)):
            self._path(entry.kind, entry.key).unlink(missing_ok=True)
            count, size = count + 1, size + entry.size
        return count, size

    def _read(self, kind: str, key: str) -> bytes | None:
        path = self._path(kind, key)
        if not all(usable(folder) for folder in self._folders(path)):
            return None
        try:
            return _opened(kind, key, path.read_bytes(), _plain)
        except OSError:
            return None

    def _write(self, kind: str, key: str, data: bytes) -> None:
        path = self._path(kind, key)
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            for folder in self._folders(path):
                folder.mkdir(mode=0o700, exist_ok=True)
                if not usable(folder):
                    return
            write_whole(path, _sealed(kind, key, data, _plain), 0o600)
        except OSError:
            return

    def _folders(self, path: Path) -> tuple[Path, ...]:
        """The folders of an entry from the outside in: whoever may write to one may forge it."""
        return self.folder, path.parent.parent, path.parent

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / kind / key[:2] / key

    def _sign(self, data: bytes) -> str:
        return hmac.new(self.secret, data, hashlib.sha256).hexdigest()


def disk_cache(folder: Path | None = None) -> DiskCache:
    """The cache that the environment names; ``folder`` in place of its local one."""
    return _disk_cache(
        folder or default_cache(), os.environ.get(REMOTE, ""), os.environ.get(SECRET, "")
    )


@cache
def _disk_cache(folder: Path, remote: str, secret: str) -> DiskCache:
    if remote and not secret:
        raise ConfigError(
            f"{REMOTE} is set and {SECRET} is not",
            where=REMOTE,
            why="whoever may write to a shared place could put a kernel of their own there",
            fix=f"set {SECRET} to a secret that all machines of the fleet share",
        )
    return DiskCache(folder, remote_at(remote) if remote else None, secret.encode())


def remote_at(place: str) -> Remote:
    """A folder, or a store of fsspec where the place is an address."""
    return FsspecRemote(place) if "://" in place else FolderRemote(Path(place))


class FolderRemote:
    """A folder that many machines mount."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return str(self.folder)

    def read(self, name: str) -> bytes | None:
        """The bytes of a file."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """A file, whole or not at all."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)


class FsspecRemote:
    """A store that fsspec reaches."""

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 (an extra)
        except ImportError:
            raise MissingExtraError("fsspec", "remote", f"the shared cache {address}") from None
        self.address = address
        found: tuple[Any, str] = url_to_fs(address)
        self.files, self.root = found

    def __str__(self) -> str:
        return self.address

    def read(self, name: str) -> bytes | None:
        """The bytes of an object."""
        try:
            return bytes(self.files.cat_file(f"{self.root}/{name}"))
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """An object; one that was cut short is none when it is read."""
        path = f"{self.root}/{name}"
        self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self.files.pipe_file(path, data)


def write_whole(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Whole or not at all: another process may read or write the same file meanwhile.

    ``mode`` is what the umask leaves of it. A write that fails, as on a full disk, leaves nothing.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            file.write(data)
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def usable(folder: Path) -> bool:
    """Whether a folder is there and nobody else may write to it; said once where others may."""
    try:
        about = folder.stat()
    except OSError:
        return False
    if not hasattr(os, "geteuid"):
        return stat.S_ISDIR(about.st_mode)
    mine = about.st_uid in (os.geteuid(), 0)
    if stat.S_ISDIR(about.st_mode) and mine and not about.st_mode & OTHERS_MAY_WRITE:
        return True
    _refused(str(folder))
    return False


@cache
def _refused(folder: str) -> None:
    warnings.warn(
        f"the cache {folder} is not used: other users may write to it. Name a folder of your own "
        f"with {FOLDER}, or remove what lies there and chmod 700 it",
        CacheWarning,
        stacklevel=2,
    )


@cache
def _unreachable(place: str, why: str) -> None:
    warnings.warn(f"the shared cache {place} cannot be used: {why}", CacheWarning, stacklevel=2)


def _name(kind: str, key: str) -> str:
    return f"{kind}/{key[:2]}/{key}"


def _plain(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sealed(kind: str, key: str, data: bytes, sign: Sign) -> bytes:
    head = b"%s %s %s %d " % (FORMAT, kind.encode(), key.encode(), len(data))
    return head + sign(head + data).encode() + b"\n" + data


def _opened(kind: str, key: str, held: bytes, sign: Sign) -> bytes | None:
    """The bytes of an entry, if it is this one and whole."""
    line, _, data = held.partition(b"\n")
    head, _, said = line.rpartition(b" ")
    head += b" "
    if head != b"%s %s %s %d " % (FORMAT, kind.encode(), key.encode(), len(data)):
        return None
    return data if hmac.compare_digest(sign(head + data).encode(), said) else None
