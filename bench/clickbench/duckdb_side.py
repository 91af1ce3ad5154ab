#!/usr/bin/env python3
"""duckdb_side.py THREADS: answers queries by DuckDB, in memory, for clickbench.pl.

Each line of input is a JSON object: {"sql": ...}, with "rows": true for the rows as PostgreSQL writes them.  Each line
of output is one: {"ms": ...}, with "rows", or {"error": ...}.  The package is looked for in the directory DUCKDB, too.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.environ.get("DUCKDB", ""))
import duckdb


def written(value):
    """Returns a value as psql shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "t" if value else "f"
    return str(value)


def answer(connection, question):
    """Runs a query, and says how long it took."""
    begun = time.perf_counter()
    result = connection.execute(question["sql"]).fetchall()
    said = {"ms": (time.perf_counter() - begun) * 1000}
    if question.get("rows"):
        said["rows"] = [[written(value) for value in row] for row in result]
    return said


def main():
    """Answers until the input ends."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {sys.argv[1]}")
    print(json.dumps({"version": duckdb.__version__}), flush=True)
    for line in sys.stdin:
        try:
            said = answer(connection, json.loads(line))
        except duckdb.Error as error:
            said = {"error": str(error).splitlines()[0]}
        print(json.dumps(said), flush=True)


main()
