"""The page at the end of a job: where its time and its bytes went."""

from typing import List, Tuple

from .plan import Plan
from .report import JobReport, NodeReport
from .sizes import format_size
from .slow_links import slow_links

_TIMES = (
    ("compute", "compute_ns", "held a slot and ran"),
    ("wait", "wait_ns", "blocked on messages of other ranks"),
    ("ready", "ready_ns", "could go on, waited for a slot or for room"),
    ("load", "load_ns", "waited for pages of unloaded memory"),
    ("unload", "unload_ns", "wrote memory out"),
)
_BYTES = (
    ("loaded", "loaded_bytes", "unloaded memory read back"),
    ("unloaded", "unloaded_bytes", "memory written to the spill directory"),
    ("spilled", "spilled_bytes", "messages written to the spill directory"),
)
_RANKS_NAMED = 3
_NODES_NAMED = 8
_LINKS_NAMED = 3
_LINE_WIDTH = 78


def _seconds(nanoseconds: float) -> str:
    seconds = nanoseconds / 1e9
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds >= 100:
        return f"{seconds:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def render_text(plan: Plan, report: JobReport) -> str:
    outcome = "ended well" if report.exit_status == 0 else f"exit status {report.exit_status}"
    title = f"── Spillway: {' '.join(plan.program)}"
    if len(title) > _LINE_WIDTH - 4:
        title = title[: _LINE_WIDTH - 5] + "…"
    lines = [title + " " + "─" * max(0, _LINE_WIDTH - 1 - len(title))]
    where = f", {_slots(report)} at a time, on {_place(report)}" if report.nodes else ""
    lines.append(f"  {plan.ranks.value} ranks{where}: {outcome} after {_seconds(report.wall_ns)}")
    if not report.nodes:
        lines.append("  The job ended before its nodes had come together.")
    elif report.attached_ranks == 0:
        lines.append("  No rank called MPI_Init, so Spillway had nothing to do.")
    else:
        lines += _memory_lines(report) + _time_lines(report) + _byte_lines(report) + _rank_lines(report)
    return "\n".join([line.rstrip() for line in lines] + ["─" * _LINE_WIDTH]) + "\n"


def _slots(report: JobReport) -> str:
    numbers = sorted({node.figures["slot_count"] for node in report.nodes})
    return " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))


def _place(report: JobReport) -> str:
    if len(report.nodes) == 1:
        return report.nodes[0].host
    return f"each of {len(report.nodes)} nodes"


def _memory_lines(report: JobReport) -> List[str]:
    """Of those nodes that came nearest to their budgets."""
    lines = [""]
    of_interest = sorted(report.nodes, key=lambda node: -_share(node))[:_NODES_NAMED]
    for node in sorted(of_interest, key=lambda node: node.figures["node_index"]):
        peak, budget = node.figures["peak_bytes"], node.figures["budget_bytes"]
        where = f" on node {node.figures['node_index']}, {node.host}" if len(report.nodes) > 1 else ""
        lines.append(
            f"  {'memory' if len(lines) == 1 else '':<8}  peak {format_size(peak)} counted against the budget of "
            f"{format_size(budget)} ({100 * _share(node):.0f}%){where}"
        )
        if peak > budget:
            lines.append(f"            {format_size(peak - budget)} over it, for memory that could not be unloaded")
    if len(report.nodes) > _NODES_NAMED:
        lines.append(f"            and less on {len(report.nodes) - _NODES_NAMED} more nodes")
    return lines


def _share(node: NodeReport) -> float:
    budget = node.figures["budget_bytes"]
    return node.figures["peak_bytes"] / budget if budget else 0.0


def _time_lines(report: JobReport) -> List[str]:
    whole = sum(report.total(key) for _, key, _ in _TIMES) or 1
    lines = ["", "  time      sum of ranks  share"]
    for name, key, meaning in _TIMES:
        value = report.total(key)
        lines.append(f"  {name:<8} {_seconds(value):>12} {100 * value / whole:>5.1f}%  {meaning}")
    return lines


def _byte_lines(report: JobReport) -> List[str]:
    lines = ["", "  bytes            total"]
    for name, key, meaning in _BYTES:
        lines.append(f"  {name:<8} {format_size(report.total(key)):>12}         {meaning}")
    lines.append(
        f"  {'messages':<8} {format_size(report.total('sent_bytes')):>12}         in "
        f"{_count(report.total('sent_messages'))} messages"
    )
    if len(report.nodes) > 1:
        sent, number, spilled = (
            sum(node.figures[f"courier_{key}"] for node in report.nodes)
            for key in ("sent_bytes", "sent_messages", "spilled_bytes")
        )
        lines.append(
            f"  {'of these':<8} {format_size(sent):>12}         in {_count(number)} between nodes, "
            f"{format_size(spilled)} spilled there"
        )
    return lines + _link_lines(report)


def _link_lines(report: JobReport) -> List[str]:
    slow = slow_links(report.links)
    hosts = {node.figures["node_index"]: node.host for node in report.nodes}
    lines = []
    for link in slow.links[:_LINKS_NAMED]:
        ends = f"node {link.sender}, {hosts[link.sender]}, to node {link.receiver}, {hosts.get(link.receiver, 'lost')}"
        lines.append(f"  slow link     {format_size(link.bytes_per_s)}/s from {ends}")
    if lines:
        more = len(slow.links) - _LINKS_NAMED
        lines.append(
            f"                {f'and {more} more; ' if more > 0 else ''}usual here: "
            f"{format_size(slow.usual_bytes_per_s)}/s"
        )
    return lines


def _most(report: JobReport, key: str) -> List[Tuple[int, int]]:
    pairs = sorted(
        ((rank[key], number) for number, rank in zip(report.numbers, report.ranks)),
        key=lambda pair: (-pair[0], pair[1]),
    )
    return [(number, value) for value, number in pairs[:_RANKS_NAMED] if value > 0]


def _rank_lines(report: JobReport) -> List[str]:
    if len(report.ranks) < 2:
        return []
    lines = []
    for title, key in (("computed longest", "compute_ns"), ("waited longest", "wait_ns")):
        most = _most(report, key)
        if most:
            lines.append(f"  {title:<17} " + ", ".join(f"rank {number} ({_seconds(value)})" for number, value in most))
    return [""] + lines if lines else []


def render_json(plan: Plan, report: JobReport) -> str:
    import json  # for --summary json only

    totals = {key: report.total(key) for key in (report.ranks[0] if report.ranks else {}) if key != "pid"}
    content = {
        "program": plan.program,
        "mpi": plan.library.flavour,
        "host": report.nodes[0].host if report.nodes else None,
        "ranks": plan.ranks.value,
        "slots": max((node.figures["slot_count"] for node in report.nodes), default=0),
        "budget_bytes": max((node.figures["budget_bytes"] for node in report.nodes), default=0),
        "peak_bytes": max((node.figures["peak_bytes"] for node in report.nodes), default=0),
        "wall_ns": report.wall_ns,
        "exit_status": report.exit_status,
        "failure": report.failure,
        "spill_directories": [spill.path for spill in plan.node.spills] if plan.node else None,
        "nodes": [dict(node.figures, host=node.host, address=node.address) for node in report.nodes],
        "links": [dict(link._asdict(), bytes_per_s=round(link.bytes_per_s)) for link in report.links],
        "totals": totals,
        "per_rank": [
            dict(rank, rank=number, state=state)
            for number, state, rank in zip(report.numbers, report.states, report.ranks)
        ],
    }
    return json.dumps(content, indent=2) + "\n"
