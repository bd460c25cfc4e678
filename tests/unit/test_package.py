"""The wheel: everything under one import package, with its data files, usable outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOADS_ALL = """
import importlib, pkgutil, siltstone
print(siltstone.__file__)
left_out = ("siltstone.__main__", "siltstone.engine.worker_daemon")
for module in pkgutil.walk_packages(siltstone.__path__, "siltstone."):
    if module.name not in left_out:
        importlib.import_module(module.name)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the wheel's content, as `site-packages` would."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def test_one_top_level_package_is_installed(installed: Path) -> None:
    assert {entry.name for entry in installed.iterdir() if not entry.name.endswith(".dist-info")} == {"siltstone"}


def test_every_file_of_the_packages_is_in_it(installed: Path) -> None:
    for package in ("engine", "quality", "jobs"):
        files = {file.relative_to(ROOT) for file in (ROOT / package).rglob("*") if file.is_file()}
        wanted = {file for file in files if "__pycache__" not in file.parts}
        assert {file for file in wanted if not (installed / "siltstone" / file).is_file()} == set()
    assert (installed / "siltstone" / "py.typed").is_file()


def test_all_modules_load_from_it_and_the_command_line_starts(installed: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(installed)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-P", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("-c", LOADS_ALL) == str(installed / "siltstone" / "__init__.py")
    assert run("-m", "siltstone", "--version").startswith("siltstone 0.")


@pytest.mark.slow
def test_the_demo_runs_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", str(wheel)], check=True, cwd=tmp_path)
    done = subprocess.run([programs / "siltstone", "demo"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "siltstone-demo" / "report" / "index.html").is_file()


def test_the_constraints_have_an_allowed_version_of_every_requirement() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    split = [line.split("==") for line in lines if not line.startswith("#")]
    pinned = {canonicalize_name(name): version for name, version in split}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        Requirement(text) for text in [*project["dependencies"], *extras["dev"], *extras["kafka"], *extras["docs"]]
    ]
    for one in wanted:
        if one.name != "siltstone":
            assert one.specifier.contains(pinned[canonicalize_name(one.name)]), one
