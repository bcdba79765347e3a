"""The path of a newcomer: a wheel in a fresh environment, then every line the pages show."""

import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]

pytestmark = pytest.mark.slow


def run(*words, cwd):
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd)


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """An environment with the wheel; its dependencies are those of this one: no network."""
    folder = tmp_path_factory.mktemp("fresh")
    done = run(
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q",
        "-w", str(folder), str(ROOT), cwd=folder,
    )  # fmt: skip
    if done.returncode:
        done = run(
            sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(folder), str(ROOT),
            cwd=folder,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    assert run(sys.executable, "-m", "venv", "env", cwd=folder).returncode == 0
    python = folder / "env" / "bin" / "python"
    done = run(str(python), "-m", "pip", "install", "--no-deps", "-q", str(wheel), cwd=folder)
    assert done.returncode == 0, done.stderr
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def test_the_wheel_is_what_runs(fresh):
    python = fresh / "env" / "bin" / "python"
    done = run(str(python), "-c", "import warploom; print(warploom.__file__)", cwd=fresh)
    assert str(fresh) in done.stdout


def test_the_demo_runs_from_the_wheel(fresh):
    done = run(str(fresh / "env" / "bin" / "warploom"), "demo", cwd=fresh)
    assert done.returncode == 0, done.stderr
    assert "wrong product" in done.stdout
    assert len(done.stdout.splitlines()) <= 50


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_line_of_a_page_works(fresh, page, tmp_path):
    python, command = fresh / "env" / "bin" / "python", fresh / "env" / "bin" / "warploom"
    text = page.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    if blocks:
        (tmp_path / "page.py").write_text("\n".join(blocks))
        done = run(str(python), "page.py", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["warploom"]:
                done = run(str(command), *words[1:], cwd=tmp_path)
                assert done.returncode in (0, 1), f"{line}\n{done.stderr}"
                assert "Traceback" not in done.stderr


def test_the_demo_script_of_a_clone_sets_up_and_shows(tmp_path):
    """Its time depends on the network, so it is measured by hand: 17 s on two idle cores."""
    clone = tmp_path / "clone"
    assert run("git", "clone", "-q", str(ROOT), str(clone), cwd=tmp_path).returncode == 0
    script = (clone / "scripts" / "demo").read_text()
    assert "scripts/setup" in script
    assert "warploom demo" in script
