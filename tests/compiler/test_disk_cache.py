"""The content-addressed cache: whole entries or none, a private folder, a signed shared place."""

from __future__ import annotations

import os
import stat
import sys
import threading

import pytest

from warploom.compiler import disk_cache as module
from warploom.compiler.disk_cache import DiskCache, FolderRemote, digest, disk_cache
from warploom.errors import CacheWarning, ConfigError, MissingExtraError

KEY, DATA = digest("a", 1), bytes(range(256)) * 3


@pytest.fixture(autouse=True)
def said_anew():
    yield
    module._refused.cache_clear()
    module._unreachable.cache_clear()


def path_of(folder):
    (path,) = folder.glob("cubin/??/*")
    return path


def test_what_is_kept_comes_back(tmp_path):
    cache = DiskCache(tmp_path / "new")
    assert cache.get("cubin", KEY) is None
    cache.put("cubin", KEY, DATA)
    assert cache.get("cubin", KEY) == DATA
    assert cache.get("source", KEY) is None
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_keys_depend_on_where_parts_end():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a", "b") != digest("b", "a")
    assert len(KEY) == 40


def test_every_changed_byte_makes_an_entry_none(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put("cubin", KEY, DATA)
    whole = path_of(tmp_path).read_bytes()
    for at in range(len(whole)):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        path_of(tmp_path).write_bytes(changed)
        assert cache.get("cubin", KEY) is None, at
    for end in range(len(whole)):
        path_of(tmp_path).write_bytes(whole[:end])
        assert cache.get("cubin", KEY) is None, end
    path_of(tmp_path).write_bytes(whole + b"x")
    assert cache.get("cubin", KEY) is None


def test_an_entry_is_not_another_ones(tmp_path):
    cache, other = DiskCache(tmp_path), digest("b")
    cache.put("cubin", KEY, DATA)
    moved = cache._path("cubin", other)
    moved.parent.mkdir(parents=True, exist_ok=True)
    path_of(tmp_path).rename(moved)
    assert cache.get("cubin", other) is None
    assert cache.get("cubin", KEY) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes of files")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_others_may_write_to_is_not_used(tmp_path, mode):
    cache = DiskCache(tmp_path / "open")
    cache.put("cubin", KEY, DATA)
    (tmp_path / "open").chmod(mode)
    with pytest.warns(CacheWarning, match="other users may write"):
        assert cache.get("cubin", KEY) is None
    cache.put("cubin", digest("new"), DATA)  # said once
    assert len(list(cache.entries())) == 1
    (tmp_path / "open").chmod(0o755)  # others may read
    assert cache.get("cubin", KEY) == DATA


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes of files")
@pytest.mark.parametrize("part", ["cubin", f"cubin/{KEY[:2]}"])
def test_a_folder_within_that_others_may_write_to_is_not_used(tmp_path, part):
    tmp_path.chmod(0o755)  # as an author makes it
    cache = DiskCache(tmp_path)
    cache.put("cubin", KEY, DATA)
    assert cache.get("cubin", KEY) == DATA
    (tmp_path / part).chmod(0o775)
    path_of(tmp_path).write_bytes(module._sealed("cubin", KEY, b"forged", module._plain))
    with pytest.warns(CacheWarning, match="other users may write"):
        assert cache.get("cubin", KEY) is None
    cache.put("cubin", KEY, DATA)
    assert b"forged" in path_of(tmp_path).read_bytes()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes of files")
def test_no_umask_opens_the_local_folder_and_the_shared_one_keeps_to_it(tmp_path):
    cache = DiskCache(tmp_path / "new", FolderRemote(tmp_path / "shared"), b"secret")
    before = os.umask(0)
    try:
        cache.put("cubin", KEY, DATA)
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "new").rglob("*")}
    assert modes == {0o700, 0o600}
    assert stat.S_IMODE(path_of(tmp_path / "shared").stat().st_mode) == 0o666


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    cache = DiskCache(tmp_path)
    cache.put("cubin", digest("first"), DATA)

    def full(self, target):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(module.Path, "replace", full)
        cache.put("cubin", KEY, DATA)
    assert cache.get("cubin", KEY) is None
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 1
    cache.put("cubin", KEY, DATA)
    assert cache.get("cubin", KEY) == DATA


def test_an_entry_that_is_no_file_is_none(tmp_path):
    cache = DiskCache(tmp_path)
    cache.put("cubin", KEY, DATA)
    path = path_of(tmp_path)
    path.unlink()
    path.mkdir()
    assert cache.get("cubin", KEY) is None
    cache.put("cubin", KEY, DATA)
    path.rmdir()
    path.symlink_to(tmp_path / "nowhere")
    assert cache.get("cubin", KEY) is None
    cache.put("cubin", KEY, DATA)  # takes the place of the link
    assert not path.is_symlink()
    assert cache.get("cubin", KEY) == DATA


def test_writers_at_once_leave_one_whole_entry(tmp_path):
    cache = DiskCache(tmp_path)
    seen = []

    def write(byte):
        for _ in range(50):
            cache.put("cubin", KEY, bytes([byte]) * 5000)
            seen.append(cache.get("cubin", KEY))

    threads = [threading.Thread(target=write, args=(byte,)) for byte in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found is not None and len(set(found)) == 1 for found in seen)
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 1


def test_entries_are_listed_and_cleared_and_nothing_else(tmp_path):
    cache = DiskCache(tmp_path)
    for i in range(3):
        cache.put("cubin", digest(i), DATA)
    cache.put("tuned", KEY, b"{}")
    (tmp_path / "mine.txt").write_text("mine")
    assert [e.kind for e in cache.entries()] == ["cubin"] * 3 + ["tuned"]
    assert cache.clear(["cubin"])[0] == 3
    assert [e.kind for e in cache.entries()] == ["tuned"]
    assert cache.clear()[0] == 1
    assert (tmp_path / "mine.txt").read_text() == "mine"


def two_machines(tmp_path, secret=b"secret", other=b"secret"):
    shared = FolderRemote(tmp_path / "shared")
    return (
        DiskCache(tmp_path / "one", shared, secret),
        DiskCache(tmp_path / "two", shared, other),
    )


def test_machines_share_entries(tmp_path):
    one, two = two_machines(tmp_path)
    one.put("cubin", KEY, DATA)
    assert two.get("cubin", KEY) == DATA
    path_of(tmp_path / "shared").unlink()
    assert two.get("cubin", KEY) == DATA, "kept in its own folder"


def test_entries_signed_by_others_are_none(tmp_path):
    one, two = two_machines(tmp_path, other=b"another")
    one.put("cubin", KEY, DATA)
    assert two.get("cubin", KEY) is None
    forged = module._sealed("cubin", KEY, b"evil", module._plain)
    path_of(tmp_path / "shared").write_bytes(forged)
    one.clear()
    assert one.get("cubin", KEY) is None


def test_a_shared_place_needs_a_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    monkeypatch.setenv("WARPLOOM_CACHE_REMOTE", str(tmp_path / "shared"))
    monkeypatch.delenv("WARPLOOM_CACHE_KEY", raising=False)
    with pytest.raises(ConfigError, match="WARPLOOM_CACHE_KEY"):
        disk_cache()
    monkeypatch.setenv("WARPLOOM_CACHE_KEY", "secret")
    disk_cache().put("cubin", KEY, DATA)
    assert path_of(tmp_path / "shared")


def test_a_place_that_cannot_be_reached_is_said_once(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "own", FolderRemote(tmp_path / "file" / "below"), b"secret")
    with pytest.warns(CacheWarning, match="cannot be used"):
        cache.put("cubin", KEY, DATA)
    assert cache.get("cubin", KEY) == DATA


def test_an_address_is_reached_through_fsspec(tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    remote = module.remote_at("memory://warploom-cache-test")
    one, two = DiskCache(tmp_path / "one", remote, b"s"), DiskCache(tmp_path / "two", remote, b"s")
    assert one.get("cubin", KEY) is None
    one.put("cubin", KEY, DATA)
    assert two.get("cubin", KEY) == DATA


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match="remote"):
        module.remote_at("s3://bucket/folder")
