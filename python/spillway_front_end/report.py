"""What the node agent reports of a finished job: the lines specified in src/launch/report.h."""

from typing import Dict, Iterable, List, NamedTuple, Optional

RankFigures = Dict[str, int]


class JobReport(NamedTuple):
    host: str
    exit_status: int
    failure: Optional[Dict[str, str]]  # message, cause and remedy
    figures: Dict[str, int]
    states: List[str]  # by rank
    ranks: List[RankFigures]

    def total(self, key: str) -> int:
        return sum(rank[key] for rank in self.ranks)


def parse_report(text: str) -> JobReport:
    words: Dict[str, str] = {}
    ranks: Dict[int, Dict[str, str]] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "rank":
            number, *fields = value.split()
            ranks[int(number)] = dict(field.split("=", 1) for field in fields)
        else:
            words[key] = value
    failure = [words.pop(key, "").replace("\\n", "\n") for key in ("failure", "cause", "remedy")]
    ordered = [ranks[number] for number in sorted(ranks)]
    return JobReport(
        host=words.pop("host", ""),
        exit_status=int(words.get("exit_status", "1")),
        failure=dict(zip(("message", "cause", "remedy"), failure)) if failure[0] else None,
        figures=_integers(words.items()),
        states=[rank.pop("state", "absent") for rank in ordered],
        ranks=[_integers(rank.items()) for rank in ordered],
    )


def _integers(pairs: Iterable) -> Dict[str, int]:
    return {key: int(value) for key, value in pairs}
