"""Runs SQL in DuckDB: a JSON list of statements from standard input, results to standard output.

Each result is a list of rows; statements without rows give an empty one.
"""

import json
import sys

import duckdb


def rows(statement):
    """The rows of one statement."""
    result = duckdb.sql(statement)
    return [] if result is None else result.fetchall()


json.dump([rows(statement) for statement in json.load(sys.stdin)], sys.stdout, default=str)
