"""Reads the Delta logs of datasets with programs that others wrote.

    delta.py KPROF WORK

KPROF is the program, WORK a folder that is made anew. Exports, a merge and a compaction follow each
other; after each step deltalake, Polars and DuckDB must give the cycles that the logs were made of,
with the Python of docs/parquet.md. Then exports run at the same time, and exports and compactions are
killed at random times. Needs the packages deltalake, polars, pyarrow and duckdb, and the package
duckdb-extension-delta, which has the extension that the page installs from DuckDB's server.
"""

import glob
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import duckdb
import duckdb_extension_delta
from deltalake import DeltaTable

from logs import TABLES, cycles_by_host, python_of_page, write_log

EXTENSION = glob.glob(f"{os.path.dirname(duckdb_extension_delta.__file__)}/extensions/*/*")[0]
LAUNCHES = 30
KILLS = 25


class Work:
    """A folder of recordings, and the truth about those that are in the dataset."""

    def __init__(self, kprof, folder, seed):
        self.kprof, self.folder, self.choose = kprof, folder, random.Random(seed)
        self.truth = {}
        self.readers = python_of_page("Delta logs")
        assert sorted(self.readers) == ["deltalake", "duckdb", "polars"], self.readers

    def command(self, *arguments):
        return [self.kprof, *arguments]

    def run(self, *arguments):
        subprocess.run(self.command(*arguments), check=True, stdout=subprocess.DEVNULL)

    def log(self, host, launches=LAUNCHES):
        path = self.folder / host / "profile_log_device.csv"
        return write_log(path, self.choose, launches)

    def export(self, host, *more):
        file = self.folder / host / "profile_log_device.csv"
        return self.command("export", str(file), "--format", "parquet", "-o", "dataset", "--host", host,
                            "--recording", "r", "--fleet-run", "run 1/a", "--date", "2026-11-25", *more)

    def add(self, host, *more):
        self.truth[host] = self.log(host)[1]
        self.run(*self.export(host, *more)[1:])

    def check(self, step):
        """Compares what each reader finds with the truth."""
        for name, text in self.readers.items():
            found = cycles_by_host(answer(text))
            assert found == self.truth, f"{step}, {name}: {found}, expected {self.truth}"
        for table in TABLES:
            check_table(table)
        print(f"{step}: {len(self.readers)} readers, {len(self.truth)} hosts, {len(TABLES)} tables, the same")


def answer(text):
    """Runs Python of the page, which leaves its answer in `cycles`."""
    names = {}
    exec(text.replace("INSTALL delta; LOAD delta", f"LOAD '{EXTENSION}'"), names)
    return names["cycles"]


def check_table(table):
    """Compares the rows of a log with those of the files on disk, which DuckDB reads without it."""
    rows = DeltaTable(f"dataset/{table}").to_pyarrow_table()
    files = glob.glob(f"dataset/{table}/date=*/run=*/*.parquet")
    expected = 0
    if files:
        expected = duckdb.sql(f"SELECT count(*) FROM read_parquet({files})").fetchone()[0]
    assert rows.num_rows == expected, f"{table}: {rows.num_rows} rows in the log, {expected} in files"


def check_values():
    """Every cell of the table of zones, by log and by file."""
    by_log = DeltaTable("dataset/zones").to_pyarrow_table().to_pylist()
    relation = duckdb.sql("FROM read_parquet('dataset/zones/*/*/*.parquet', hive_partitioning = true)")
    names, rows = relation.columns, relation.fetchall()
    key = lambda row: [str(row[name]) for name in names]
    by_file = sorted((dict(zip(names, row)) for row in rows), key=key)
    by_log = sorted(by_log, key=key)
    assert [key(row) for row in by_log] == [key(row) for row in by_file]
    assert {row["run"] for row in by_log} == {"run 1/a"} and by_log[0]["date"].isoformat() == "2026-11-25"
    print(f"zones: {len(by_log)} rows of {len(names)} columns, the same by log and by file")


def at_once(work):
    hosts = [f"host-{number}" for number in range(10, 18)]
    for host in hosts:
        work.truth[host] = work.log(host)[1]
    processes = [subprocess.Popen(work.export(host), stdout=subprocess.DEVNULL) for host in hosts]
    assert [process.wait() for process in processes] == [0] * len(hosts)


def killed(work):
    """Kills exports of one recording and compactions; the table must always be that before or after."""
    big = work.log("killed", 4000)[1]
    start = time.monotonic()
    work.run(*work.export("killed")[1:])
    work.truth["killed"] = big
    whole_s = time.monotonic() - start
    work.check("the long export")
    ended = 0
    for number in range(KILLS):
        is_compaction = number % 5 == 4
        command = work.command("compact", "dataset") if is_compaction else work.export("killed")
        if is_compaction:
            # These additional recordings give the compaction something to compact.
            work.add(f"late-{number}")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(work.choose.uniform(0, whole_s))
        process.kill()
        ended += process.wait() == 0
        for name, text in work.readers.items():
            found = cycles_by_host(answer(text))
            assert found == work.truth, f"kill {number}, {name}: {found}, expected {work.truth}"
        if is_compaction:
            # The next compaction removes the files of the killed one. The long recording is then
            # written again, because its rows have moved into a file with the rows of several
            # recordings.
            work.run("compact", "dataset")
            work.check(f"after kill {number}")
            shutil.rmtree("dataset")
            work.truth = {}
            work.add("host-1", "--delta-log")
            work.truth["killed"] = big
            work.run(*work.export("killed")[1:])
    print(f"{KILLS} processes, of which {KILLS - ended} were killed before their end: readable each time")
    # An export that completes removes the files of exports that were killed.
    work.run(*work.export("killed")[1:])
    work.check("after the kills")


def main():
    kprof, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    seed = int(os.environ.get("KPROF_DELTA_SEED", random.randrange(1 << 32)))
    print(f"seed {seed} (KPROF_DELTA_SEED gives another)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    work = Work(kprof, pathlib.Path("hosts"), seed)
    work.add("host-1", "--delta-log")
    work.check("first export")
    check_values()
    work.add("host-2")
    work.check("second export")
    work.add("host-1")
    work.check("first recording again")
    work.run("compact", "dataset")
    work.check("compaction")
    at_once(work)
    work.check("exports at the same time")
    work.run("compact", "dataset")
    work.check("second compaction")
    check_values()

    shutil.rmtree("dataset")
    work.truth = {f"rank{rank}": work.log(f"ttrun/rank{rank}/.logs")[1] for rank in range(4)}
    work.run("merge", "hosts/ttrun", "-o", ".", "--delta-log")
    work.check("merge")

    shutil.rmtree("dataset")
    work.truth = {}
    work.add("host-1", "--delta-log")
    killed(work)
    print("passed")


main()
