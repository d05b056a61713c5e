"""Small programs for the front end to look at, and machines for it to run on."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest


@pytest.fixture(scope="session")
def compile_program() -> Callable[..., Path]:
    """compile_program(path, *options): compiles a program of one line."""
    compiler = next((path for path in map(shutil.which, ("c++", "g++", "clang++")) if path), None)
    assert compiler, "no C++ compiler"

    def compile_one(path: Path, *options: str, source: str = "int main() {}\n") -> Path:
        command = [compiler, "-x", "c++", "-", "-x", "none", "-o", str(path), *options]
        subprocess.run(command, input=source, text=True, check=True, timeout=60)
        return path

    return compile_one


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., str]:
    """tree({"proc/meminfo": "..."}): a root directory with these files."""

    def plant(files) -> str:
        for name, content in files.items():
            path = tmp_path / "root" / name
            os.makedirs(path.parent, exist_ok=True)
            path.write_text(content)
        return str(tmp_path / "root")

    return plant
