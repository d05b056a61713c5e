"""The source tree keeps its own rules: layers, file sizes, headers that compile alone."""

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Set

import pytest

SOURCE = Path(__file__).resolve().parent.parent
LAYERS_PAGE = SOURCE / "src" / "README.md"
LINES_MAX = 600
COMPILE_LIMIT_S = 120


def layers() -> List[str]:
    return sorted(path.name for path in (SOURCE / "src").iterdir() if path.is_dir())


def layer_table() -> Dict[str, Set[str]]:
    """src/README.md's table `| folder | what it holds | may use |`: which layers each layer may use."""
    rows = {}
    for line in LAYERS_PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`?[a-z_]+/?`?", cells[0]) and cells[0] != "folder":
            rows[cells[0].strip("`/")] = set(re.findall(r"[a-z_]+", cells[2])) & set(layers())
    return rows


def sources(folder: Path, *endings: str) -> List[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in endings and path.is_file())


def project_files() -> List[Path]:
    """All files of the project: not the builds, not what hides. (git would know, but refuses another user's tree.)"""
    found = []
    for folder in SOURCE.iterdir():
        if folder.is_file():
            found.append(folder)
        elif not folder.name.startswith((".", "build")):
            found += [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted(found)


def test_every_layer_has_its_line() -> None:
    assert sorted(layer_table()) == layers()


def test_layers_form_no_circle() -> None:
    remaining = layer_table()
    while remaining:
        lowest = [layer for layer, used in remaining.items() if not (used - {layer}) & set(remaining)]
        assert lowest, f"these layers use each other in a circle: {sorted(remaining)}"
        for layer in lowest:
            del remaining[layer]


def test_layers_use_only_what_they_may() -> None:
    table = layer_table()
    offences = []
    for path in sources(SOURCE / "src", ".h", ".cpp"):
        layer = path.relative_to(SOURCE / "src").parts[0]
        for used in re.findall(r'^\s*#\s*include\s+"([a-z_]+)/', path.read_text(), re.MULTILINE):
            if used in table and used != layer and used not in table.get(layer, set()):
                offences.append(f"{path.relative_to(SOURCE)} includes {used}/")
    assert not offences


def test_files_are_short_enough_to_read() -> None:
    long_files = []
    for path in project_files():
        if path.suffix in {".h", ".cpp", ".py", ".sh", ".cmake"}:
            lines = len(path.read_text().splitlines())
            if lines > LINES_MAX:
                long_files.append(f"{path.relative_to(SOURCE)}: {lines} lines")
    assert not long_files


def test_nothing_is_left_to_do_in_the_sources() -> None:
    # Spelled so that this file does not find itself.
    left = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
    marked = [
        str(path.relative_to(SOURCE))
        for path in project_files()
        if path.suffix in {".h", ".cpp", ".py", ".sh", ".cmake"} and left.search(path.read_text())
    ]
    assert not marked


def test_links_between_documents_lead_somewhere() -> None:
    dead = []
    for page in project_files():
        if page.suffix == ".md":
            prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
                if "://" not in target and not (page.parent / target).exists():
                    dead.append(f"{page.relative_to(SOURCE)} -> {target}")
    assert not dead


def compile_words(commands: List[dict], layer: str) -> List[str]:
    """How a source of that layer is compiled (include paths, MPI's among them), without its input and output.

    Of a layer of headers alone, a source of one that uses it.
    """
    users = [layer, *(other for other, used in layer_table().items() if layer in used)]
    chosen = next((entry for user in users for entry in commands if f"/src/{user}/" in entry["file"]), commands[0])
    words = chosen["arguments"] if "arguments" in chosen else shlex.split(chosen["command"])
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in {"-o", "-c", "-MF", "-MT", "-MQ"}:
            skip = True
        elif word not in {"-MD", "-MMD", "-MP"}:
            kept.append(word)
    return kept


def is_included_first(header: Path, compiled: Set[str]) -> bool:
    """By its own source, which the build has compiled by itself: so it compiles alone."""
    source = header.with_suffix(".cpp")
    if str(source) not in compiled:
        return False
    included = re.search(r"^#include (.*)$", source.read_text(), re.MULTILINE)
    return included is not None and included.group(1) == f'"{header.relative_to(SOURCE / "src")}"'


@pytest.mark.parametrize("layer", layers())
def test_each_header_compiles_alone(layer: str, build_dir: Path) -> None:
    commands = json.loads((build_dir / "compile_commands.json").read_text())
    base = compile_words(commands, layer)
    compiled = {entry["file"] for entry in commands}
    headers = sources(SOURCE / "src" / layer, ".h")
    left = [header for header in headers if not is_included_first(header, compiled)]

    def diagnosis(header: Path) -> str:
        words = [*base, "-fsyntax-only", "-include", str(header), "-x", "c++", "/dev/null"]
        outcome = subprocess.run(words, cwd=build_dir, capture_output=True, text=True, timeout=COMPILE_LIMIT_S)
        return "" if outcome.returncode == 0 else f"{header.relative_to(SOURCE)}\n{outcome.stderr[:1500]}"

    with ThreadPoolExecutor(max_workers=2) as workers:
        failures = [text for text in workers.map(diagnosis, left) if text]
    assert not failures, "\n".join(failures)
