"""Asks DuckDB and Spark the questions of docs/parquet.md over 32 merged hosts.

    check.py KPROF WORK

KPROF is the program, WORK a folder that is made anew. Both engines must give the same rows, and
DuckDB's must be those that the generated hosts imply. Spark runs as `local-cluster`, so that
tasks and rows go between processes, and needs a Java runtime and the packages duckdb and pyspark.
"""

import collections
import decimal
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import duckdb
import pyspark
from pyspark.sql import SparkSession

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "parquet.md"
HOSTS = 32
HEADER = """ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
"""


def questions_of_page():
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    return [text.strip() for block in blocks for text in block.split(";") if text.strip()]


def views(kprof, engine):
    """What makes the views of the dataset here."""
    command = [kprof, "schema", "--views", engine, "--dataset", "dataset"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    statements = [line.rstrip(";") for line in text.splitlines()]
    assert len(statements) == 15, text
    return statements


def write_log(path, choose):
    """A device log; returns zones and cycles by RISC."""
    sums, lines, start = collections.Counter(), [HEADER], 1000
    for launch in range(1, choose.randint(1, 20) + 1):
        for core in range(1, choose.randint(1, 8) + 1):
            for risc in choose.sample(["BRISC", "NCRISC", "TRISC_0"], choose.randint(1, 3)):
                duration = choose.randint(1, 9000)
                for kind, time in ("ZONE_START", start), ("ZONE_END", start + duration):
                    lines.append(
                        f"0,{core},2,{risc},8,{time},0,{launch << 10},,,{risc}-KERNEL,{kind},1,k.cc,\n"
                    )
                sums[risc, "zones"] += 1
                sums[risc, "cycles"] += duration
        start += 10_000
    path.parent.mkdir(parents=True)
    path.write_text("".join(lines))
    return sums


def generate(kprof, work, choose):
    """Makes the recordings of all hosts and merges them."""
    def run(*arguments):
        subprocess.run([kprof, *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL)

    log = "ttrun/rank{}/.logs/profile_log_device.csv"
    sums = {f"rank{rank}": write_log(work / log.format(rank), choose) for rank in range(HOSTS - 2)}
    # One host reports its own events and the waits of its RISCs. Another host has lost records.
    pipeline = ["--workload", "pipeline", "--pipeline", "tiles=4", "--waits", "totals"]
    run("capture", *pipeline, "-o", "synchronised.kprof")
    run("capture", "--workload", "multi-op-overflow", "-o", "overflow.kprof")
    captures = [f"rank{HOSTS - 2}=synchronised.kprof", f"rank{HOSTS - 1}=overflow.kprof"]
    run("merge", "ttrun", *captures, "-o", ".")
    return sums


def plain(rows, fractions):
    """Rows as both engines can give them, sorted by all but their fractions.

    Spark averages numbers of 64 bits as decimals with four places, so that quotients differ from
    DuckDB's in their last digits, and rows that are as good as equal in their order.
    """
    def cell(value):
        return int(value) if isinstance(value, (decimal.Decimal, float)) else value

    def key(row):
        return [str(value) for column, value in enumerate(row) if column not in fractions]

    whole = [[float(value) if column in fractions else cell(value) for column, value in enumerate(row)]
             for row in rows]
    return sorted(whole, key=key)


def fractions_of(rows):
    """Columns of DuckDB's rows that hold fractions."""
    return {column for row in rows for column, value in enumerate(row) if isinstance(value, float)}


def is_same(one, other):
    """Whether two rows agree, fractions to a millionth."""
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-6) if isinstance(a, float) else a == b
        for a, b in zip(one, other)
    )


def check_truth(zones, sums):
    """Compares the first question's rows with what the logs were made of."""
    found = collections.defaultdict(collections.Counter)
    for host, risc, _, count, cycles in zones:
        if host in sums:
            found[host][risc, "zones"] += count
            found[host][risc, "cycles"] += cycles
    assert found == sums, "rows of DuckDB are not those of the logs"


def main():
    kprof, work = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    seed = int(os.environ.get("KPROF_SPARK_SEED", random.randrange(1 << 32)))
    print(f"seed {seed} (KPROF_SPARK_SEED gives another)")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    sums = generate(kprof, work, random.Random(seed))
    os.chdir(work)
    questions = questions_of_page()
    assert len(questions) == 5, [text[:40] for text in questions]
    for view in views(kprof, "duckdb"):
        duckdb.sql(view)
    of_duckdb = [duckdb.sql(text).fetchall() for text in questions]
    check_truth(of_duckdb[0], sums)

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    assert spark.sparkContext.master.startswith("local-cluster"), spark.sparkContext.master
    print(f"Spark {spark.version}")
    for view in views(kprof, "spark"):
        spark.sql(view)
    for number, (text, expected) in enumerate(zip(questions, of_duckdb), 1):
        fractions = fractions_of(expected)
        expected = plain(expected, fractions)
        found = plain(spark.sql(text).collect(), fractions)
        pairs = [pair for pair in zip(found, expected) if not is_same(*pair)]
        if len(found) != len(expected) or pairs:
            raise SystemExit(
                f"question {number}: {len(found)} rows of Spark, {len(expected)} of DuckDB; "
                f"first difference {json.dumps(pairs[:1])}"
            )
        assert found, f"question {number} has no rows, so that nothing is compared"
        print(f"question {number}: {len(found)} rows, the same")
    spark.stop()
    print(f"{len(questions)} passed, 0 failed")


main()
