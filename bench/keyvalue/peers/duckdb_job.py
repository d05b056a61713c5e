"""A job on DuckDB: duckdb_job.py JOB INPUT OUTPUT MEMORY SCRATCH THREADS ROUNDS."""

import sys
from pathlib import Path

import duckdb

# Lines as they are: neither quoted nor escaped, and with no byte in them that could divide columns.
LINES = (
    "read_csv('{input}', columns={{'line': 'VARCHAR'}}, header=false, auto_detect=false, delim='\x01', quote='', "
    "escape='', new_line='{newline}')"
)
TEXT = "(FORMAT csv, HEADER false, DELIMITER '\t', QUOTE '', ESCAPE '')"
JOBS = {
    "wordcount": "SELECT word, count(*) FROM (SELECT unnest(string_split(line, ' ')) AS word FROM {lines})"
    " WHERE word <> '' GROUP BY word",
    "sort": "SELECT line FROM {lines} ORDER BY line",
    "terasort": "SELECT line || chr(13) FROM {lines} ORDER BY line",
}

LINKS = (
    "CREATE TEMP TABLE links AS SELECT node, unnest(neighbours) AS neighbour, 1 / len(neighbours) AS share FROM"
    " (SELECT numbers[1] AS node, numbers[2:] AS neighbours"
    " FROM (SELECT string_split(line, ' ')::INTEGER[] AS numbers FROM {lines}))"
)
FIRST_RANKS = "CREATE TEMP TABLE ranks AS SELECT node, 1.0::DOUBLE AS rank FROM links GROUP BY node"
NEXT_RANKS = (
    "CREATE OR REPLACE TEMP TABLE ranks AS SELECT ranks.node, 0.15 + 0.85 * coalesce(got, 0) AS rank FROM ranks"
    " LEFT JOIN (SELECT neighbour AS node, sum(rank * share) AS got FROM links JOIN ranks USING (node)"
    " GROUP BY neighbour) USING (node)"
)


def pagerank(connection: duckdb.DuckDBPyConnection, lines: str, rounds: int) -> str:
    connection.execute(LINKS.format(lines=lines))
    connection.execute(FIRST_RANKS)
    for _ in range(rounds):
        connection.execute(NEXT_RANKS)
    return "SELECT node, rank FROM ranks"


def main() -> None:
    job, source, output, memory, scratch, threads, rounds = sys.argv[1:]
    Path(output).mkdir()
    connection = duckdb.connect(
        config={
            "memory_limit": memory,
            "temp_directory": scratch,
            "threads": threads,
            "preserve_insertion_order": False,
        }
    )
    newline = "\\r\\n" if job == "terasort" else "\\n"
    lines = LINES.format(input=source, newline=newline)
    query = pagerank(connection, lines, int(rounds)) if job == "pagerank" else JOBS[job].format(lines=lines)
    connection.execute(f"COPY ({query}) TO '{output}/part' {TEXT}")


if __name__ == "__main__":
    main()
