#!/usr/bin/env python3
"""How many times longer word count takes in Python than in C++: of strings, and with NumPy and Arrow on many words at
a time."""

import argparse
import json
import sys
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contenders import DEFAULT_FOLDER, INSTALL, can_import
from inputs import write_first_lines, write_real_text, write_zipf_text
from jobs import Output
from measurement import FIGURES, Sample, content, is_same
from measuring import machine
from measuring.build import SOURCE, Build, add_build_options
from measuring.program_run import RunFailed
from measuring.progress import say
from measuring.scratch import measured_in_scratch_folder
from measuring.spread import Spread
from measuring.table import table
from measuring.verdict import misses_target, verdict
from mpidrun_run import Command, Report, run_with_mpidrun
from run import roomy_bytes

GIB, MIB = 1 << 30, 1 << 20
APPLICATIONS = SOURCE / "apps" / "keyvalue" / "python"
CPP = "wordcount"
BOUNDS = {"wordcount.py": 5.0, "wordcount_batches.py": 1.5}  # times as long as C++
MODULES = {"wordcount.py": [], "wordcount_batches.py": ["numpy", "pyarrow"]}


class Text(NamedTuple):
    name: str
    about: str
    path: Path
    little: Path  # its first lines: what a program takes for them is its start


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_build_options(parser)
    add = parser.add_argument
    add("--size", default="1G", help="of each text (default: 1G)")
    add("--text", type=Path, nargs="+", default=[], metavar="FILE", help="real text (default: Debian's Contents)")
    add("--repeats", type=int, default=3, help="runs of each, interleaved (default: 3)")
    add("--limit", type=float, default=1200, metavar="SECONDS", help="time limit of each run (default: 1200)")
    add("--peer-folder", type=Path, default=DEFAULT_FOLDER, help="where install.sh put Python (default: build/peers)")
    add("--folder", type=Path, help="where all files go: on a local disk")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats: at least 1")
    return options


def commands(build: Build, flavour: str, python: Path) -> Tuple[Dict[str, Command], Dict[str, str]]:
    """And who is left out, and why."""
    found = {CPP: Command(build.mpi_program("tests", CPP, flavour), lambda output, source: [output, source])}
    left_out = {}
    for name in BOUNDS:
        if not python.exists():
            left_out[name] = f"no {python}: {INSTALL}"
        elif missing := [module for module in MODULES[name] if not can_import(python, module)]:
            left_out[name] = f"no {' and no '.join(missing)} in {python.parent}: {INSTALL}"
        else:
            found[name] = Command(str(python), _arguments_with(APPLICATIONS / name))
    return found, left_out


def _arguments_with(script: Path) -> Callable[[Path, Path], List[object]]:
    return lambda output, source: [script, output, source]


class WordsMeasurement:
    def __init__(
        self, text: Text, commands: Dict[str, Command], build: Build, flavour: str, folder: Path, limit_s: float
    ) -> None:
        self.text = text
        self.samples: Dict[str, List[Sample]] = {name: [] for name in commands}
        self._commands = commands
        self._content: object = None  # of the first output, which all others must have
        self._build = build
        self._flavour = flavour
        self._folder = folder
        self._memory_bytes = roomy_bytes(text.path, GIB, False)
        self._limit_s = limit_s

    def run_all(self, repeats: int) -> None:
        """Raises RunFailed."""
        for repeat in range(repeats):
            for name in self._commands if repeat % 2 == 0 else reversed(self._commands):
                say(f"{self.text.name}, {name}: repeat {repeat + 1} of {repeats}")
                start = self._run(name, self.text.little)
                report = self._run(name, self.text.path)
                if self._content is None:
                    self._content = report.output
                if not is_same(self._content, report.output):
                    raise RunFailed(f"{self.text.name}: {name} has counted otherwise than the first run")
                self.samples[name].append(Sample(repeat, report.wall_s, start.wall_s, report.processor_s))

    def spread(self, name: str, figure: str) -> Spread:
        return Spread([getattr(sample, figure) for sample in self.samples[name]])

    def ratio(self, name: str, figure: str) -> Spread:
        """How many times longer it takes than C++, in the same repeats."""
        pairs = zip(self.samples[name], self.samples[CPP])
        return Spread([getattr(sample, figure) / getattr(cpp, figure) for sample, cpp in pairs])

    def page(self) -> str:
        lines = [f"{self.text.name}: {self.text.path.stat().st_size / MIB:.0f} MiB of {self.text.about}"]
        rows = [["", "s in all", "s without the start", "processor s", "x C++ in all", "x C++ without the start"]]
        for name in self.samples:
            cells = [self.spread(name, figure).text() for figure in (*FIGURES, "processor_s")]
            ratios = [self.ratio(name, figure).text() if name != CPP else "-" for figure in FIGURES]
            rows.append(["C++" if name == CPP else name, *cells, *ratios])
        lines.append(table(rows))
        for name in self.samples:
            for figure, words in FIGURES.items() if name != CPP else ():
                ratio = self.ratio(name, figure)
                met = verdict(ratio.median <= BOUNDS[name])
                lines.append(f"  {name} / C++, {words} <= {BOUNDS[name]:g}: {ratio.text()}: {met}")
        return "\n".join(lines)

    def as_json(self) -> Dict[str, object]:
        return {
            "text": self.text.name,
            "input_bytes": self.text.path.stat().st_size,
            "samples": {
                name: [{**sample._asdict(), "work_s": sample.work_s} for sample in samples]
                for name, samples in self.samples.items()
            },
            "ratios": {
                name: {figure: self.ratio(name, figure).as_json() for figure in FIGURES}
                for name in self.samples
                if name != CPP
            },
        }

    def _run(self, name: str, source: Path) -> Report:
        return run_with_mpidrun(
            self._build,
            self._commands[name],
            source,
            self._folder,
            self._memory_bytes,
            self._limit_s,
            options=["--mpi", self._flavour] if name != CPP else [],
            look=lambda output: content(output, Output.LINES),
        )


def texts(folder: Path, size: int, files: List[Path]) -> List[Text]:
    """None has other bytes than those of ASCII words, spaces and newlines: what is a word is the same for everybody."""
    say("making the texts")
    real, zipf = (Text(name, "", folder / name, folder / f"{name}-little") for name in ("real", "zipf"))
    about = write_real_text(real.path, size, files)
    write_zipf_text(zipf.path, size)
    found = [real._replace(about=about), zipf._replace(about="Zipf-distributed words")]
    for text in found:
        write_first_lines(text.little, text.path)
    return found


def measure(build: Build, options: argparse.Namespace, folder: Path, size: int) -> int:
    flavour = options.mpi or build.default_flavour()
    about_machine = machine.description(folder)
    version = f"{build.version()}, {flavour}"
    print(f"Words in Python: {version}\n{machine.text(about_machine)}", flush=True)
    able, left_out = commands(build, flavour, options.peer_folder.absolute() / "python" / "bin" / "python")
    for name, reason in left_out.items():
        print(f"  left out: {name}: {reason}", flush=True)
    measurements, pages = [], []
    for text in texts(folder, size, options.text):
        measurements.append(WordsMeasurement(text, able, build, flavour, folder, options.limit))
        measurements[-1].run_all(options.repeats)
        say("")
        pages.append(measurements[-1].page())
        print(f"\n{pages[-1]}", flush=True)
    if options.json:
        rows = [measurement.as_json() for measurement in measurements]
        shown = {"machine": about_machine, "versions": version, "left_out": left_out, "texts": rows}
        options.json.write_text(json.dumps(shown, indent=2) + "\n")
    return 1 if misses_target("\n".join(pages)) else 0


def main() -> int:
    options = parse()
    build = Build(options.build)
    from spillway_front_end.sizes import parse_size

    size = parse_size(options.size)
    # Both texts, an output, and what is spilled.
    room = 6 * size + GIB
    return measured_in_scratch_folder(lambda folder: measure(build, options, folder, size), room, options.folder)


if __name__ == "__main__":
    sys.exit(main())
