"""Reads the prototypes of the MPI functions that an mpi.h declares."""

import os
import re
import subprocess
from dataclasses import dataclass
from typing import Dict, List

# MPI_Send and MPI_T_init_thread have lower-case letters; what is written in capitals (MPI_NULL_COPY_FN) is a constant
# to MPI, even where a library makes it a function. MPIX_ marks what is the library's own and no part of MPI.
_FUNCTION = re.compile(
    r"^(?P<returns>[\w\s*]+?)\s*\b" r"(?P<name>MPI_(?:T_[a-z]|[A-Z][a-z0-9])\w*)\s*\((?P<parameters>.*)\)$"
)
_PROFILING_NAME = re.compile(r"\bP(?=(MPI_(?:T_[a-z]|[A-Z][a-z0-9])\w*)\s*\()\w+")
_NOISE = re.compile(r'\b(?:extern|__extension__|noexcept|inline)\b|"C"')
_NAMED_POINTER_TO_ARRAY = re.compile(r"\(\s*\*\s*\w*\s*\)")


@dataclass(frozen=True)
class Prototype:
    """A function's type, without the names of its parameters, written one way whatever the header's style."""

    returns: str
    parameters: List[str]

    def text(self) -> str:
        return f"{self.returns}({', '.join(self.parameters) or 'void'})"


def preprocess(header: str, compiler: str = "c++") -> str:
    """The header as a C++ program sees it, without the library's old C++ bindings."""
    command = [
        compiler,
        "-E",
        "-P",
        "-x",
        "c++",
        "-DMPICH_SKIP_MPICXX",
        "-DOMPI_SKIP_MPICXX",
        "-I",
        os.path.dirname(os.path.abspath(header)),
        header,
    ]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _without_balanced(text: str, opening: re.Pattern, close: str) -> str:
    """Removes each match of `opening`, which ends in a bracket, up to the bracket that closes it."""
    kept = []
    at = 0
    for match in opening.finditer(text):
        if match.start() < at:
            continue
        kept.append(text[at : match.start()])
        bracket, depth, at = match.group()[-1], 1, match.end()
        while depth and at < len(text):
            depth += {bracket: 1, close: -1}.get(text[at], 0)
            at += 1
    return "".join(kept) + text[at:]


def split_parameters(parameters: str) -> List[str]:
    """Splits at the commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for character in parameters:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    if part.strip() and part.strip() != "void":
        parts.append(part.strip())
    return parts


def parameter_name(parameter: str) -> str:
    """The name in `const int array_of_counts[]`."""
    words = re.findall(r"\w+", re.sub(r"\[.*", "", parameter))
    return words[-1]


def parameter_type(parameter: str) -> str:
    """The type in `const int array_of_counts[]`, arrays as the pointers that they are: `const int *`."""
    parameter = parameter.strip()
    if _NAMED_POINTER_TO_ARRAY.search(parameter):  # int (*ranges)[3]
        parameter = _NAMED_POINTER_TO_ARRAY.sub(" ranges[]", parameter)
    name_and_bounds = re.match(r"^(?P<rest>[^\[]*)(?P<bounds>(?:\[[^\]]*\]\s*)*)$", parameter)
    if not name_and_bounds:
        raise ValueError(f"cannot read the parameter {parameter!r}")
    rest = _without_name(name_and_bounds.group("rest"))
    bounds = re.findall(r"\[[^\]]*\]", name_and_bounds.group("bounds"))
    spaced = " ".join(rest.replace("*", " * ").split())
    if len(bounds) > 1:
        return f"{spaced} (*)" + "".join(bounds[1:])
    if bounds:
        spaced += " *"
    return spaced.replace("* *", "**").replace("* *", "**")


def _without_name(declared: str) -> str:
    """`const void *buf` and `const void *` both give `const void *`: headers may leave names out."""
    words = declared.replace("*", " * ").split()
    types = [word for word in words if word not in ("const", "struct", "unsigned", "*", "volatile", "restrict")]
    if len(types) > 1 and words[-1] == types[-1] and words[-1] not in ("int", "long", "char", "short"):
        words = words[:-1]
    return " ".join(words)


def prototypes(preprocessed: str) -> Dict[str, Prototype]:
    """All functions named MPI_* that a preprocessed header declares."""
    text = re.sub(r"^#.*$", "", preprocessed, flags=re.MULTILINE)
    text = re.sub(r'extern\s+"C"(?:\s*"C\+\+")?\s*\{', " ", text)
    text = _without_balanced(text, re.compile(r"\b__attribute__\s*\(|\b__asm__\s*\(|\[\[\w+\("), ")")
    text = _without_balanced(text, re.compile(r"\{"), "}")
    found = {}
    for statement in text.split(";"):
        statement = " ".join(_NOISE.sub(" ", statement.replace("}", " ")).split())
        match = _FUNCTION.match(statement)
        if not match or match.group("returns").startswith("typedef"):
            continue
        returns = " ".join(match.group("returns").replace("*", " * ").split())
        parameters = [parameter_type(p) for p in split_parameters(match.group("parameters"))]
        found[match.group("name")] = Prototype(returns, parameters)
    return found


def functions_of(header: str, compiler: str = "c++") -> Dict[str, Prototype]:
    return prototypes(preprocess(header, compiler))


def profiling_names(header: str, compiler: str = "c++") -> List[str]:
    """PMPI_X for each function that the header declares in both forms, in its order."""
    preprocessed = preprocess(header, compiler)
    declared = prototypes(preprocessed)
    return list(dict.fromkeys(match[0] for match in _PROFILING_NAME.finditer(preprocessed) if match[1] in declared))
