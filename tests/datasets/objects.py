"""Writes datasets to a local server that speaks S3, and reads them with programs that others wrote.

    objects.py KPROF WORK

KPROF is the program, built with the feature `object-store`; WORK is a folder that is made anew. Every
recording is also written to a folder, by the same commands. The questions of docs/parquet.md must get
the same answers from both, and the Python of the page the cycles that the logs were made of. Needs the
packages moto[server], duckdb, duckdb-extension-httpfs, deltalake, pyarrow and s3fs.
"""

import atexit
import glob
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import time

import duckdb
import duckdb_extension_httpfs
import s3fs
from deltalake import DeltaTable

from logs import PAGE, TABLES, cycles_by_host, python_of_page, write_log

EXTENSION = glob.glob(f"{os.path.dirname(duckdb_extension_httpfs.__file__)}/extensions/*/*")[0]
URL = "s3://fleet/team/dataset"
KILLS = 15


def questions_of_page():
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    return [text.strip() for block in blocks for text in block.split(";") if text.strip()]


def start_server():
    """Starts the server in a process of its own, which ends with this one; returns its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    for _ in range(600):
        assert server.poll() is None, "the server has ended"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return f"127.0.0.1:{port}"
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")


class Store:
    """The server, a client of it, and the program."""

    def __init__(self, kprof):
        self.kprof = kprof
        self.endpoint = f"http://{start_server()}"
        os.environ.update(
            AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1",
            AWS_ENDPOINT_URL=self.endpoint, AWS_ALLOW_HTTP="true",
        )
        self.files = s3fs.S3FileSystem(endpoint_url=self.endpoint, use_listings_cache=False)
        self.files.mkdir("fleet")

    def command(self, *arguments):
        return [self.kprof, *arguments]

    def run(self, *arguments):
        done = subprocess.run(self.command(*arguments), check=True, capture_output=True, text=True)
        return done.stdout

    def refusal(self, *arguments, **variables):
        """The one sentence with which a command is refused."""
        environment = {**os.environ, **variables}
        environment = {name: value for name, value in environment.items() if value is not None}
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, env=environment)
        assert done.returncode == 2, done
        [line] = done.stderr.splitlines()
        return line

    def names(self, prefix=URL):
        return sorted(self.files.find(prefix.removeprefix("s3://")))


def export(host, to, *more):
    return ["export", f"{host}/profile_log_device.csv", "--format", "parquet", "-o", to, "--host", host,
            "--recording", "r", "--fleet-run", "run 1", "--date", "2026-11-25", *more]


def connection(store):
    duck = duckdb.connect()
    duck.execute(f"LOAD '{EXTENSION}'")
    host = store.endpoint.removeprefix("http://")
    duck.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID 'key', SECRET 'secret', ENDPOINT '{host}', "
        "USE_SSL false, URL_STYLE 'path', REGION 'us-east-1')"
    )
    return duck


def answers(store, dataset):
    duck = connection(store)
    for statement in store.run("schema", "--views", "duckdb", "--dataset", dataset).splitlines():
        duck.execute(statement)
    return [duck.execute(text).fetchall() for text in questions_of_page()]


def check_same(store, step):
    """Compares the objects with the files, and the answers of both."""
    objects = [name.split("dataset/", 1)[1] for name in store.names() if "_delta_log" not in name]
    files = [str(path.relative_to("dataset")) for path in pathlib.Path("dataset").rglob("*.parquet")]
    # A repeated export writes files with other numbers in their names.
    objects, files = ({re.sub("~[0-9]+", "~", name) for name in names} for names in (objects, files))
    assert objects == files, f"{step}: {sorted(objects ^ files)}"
    by_url, by_folder = answers(store, URL), answers(store, "dataset")
    assert len(by_url) == 5 and by_url[0], by_url
    assert by_url == by_folder, step
    print(f"{step}: {len(objects)} objects, the same names and answers as in a folder")


def check_page(store, truth, step):
    """The Python of the page, with its URL replaced by that of the test."""
    blocks = python_of_page("Object stores")
    assert sorted(blocks) == ["deltalake", "duckdb"], blocks
    for name, text in blocks.items():
        text = text.replace("s3://bucket/dataset", URL)
        text = text.replace("INSTALL httpfs; LOAD httpfs", f"LOAD '{EXTENSION}'")
        host = store.endpoint.removeprefix("http://")
        server = f"KEY_ID 'key', SECRET 'secret', ENDPOINT '{host}', USE_SSL false, URL_STYLE 'path'"
        text = text.replace("KEY_ID '...', SECRET '...'", server)
        names = {}
        exec(text, names)
        found = cycles_by_host(names["cycles"])
        assert found == truth, f"{step}, {name}: {found}, expected {truth}"
    print(f"{step}: {len(blocks)} blocks of the page, {len(truth)} hosts, the true cycles")


def rows_of_logs():
    return {table: DeltaTable(f"{URL}/{table}").to_pyarrow_table().num_rows for table in TABLES}


def at_once(store, choose, truth):
    hosts = [f"at-once-{number}" for number in range(6)]
    for host in hosts:
        truth[host] = write_log(pathlib.Path(host, "profile_log_device.csv"), choose, 5)[1]
        store.run(*export(host, "dataset"))
    processes = [
        subprocess.Popen(store.command(*export(host, URL)), stdout=subprocess.DEVNULL) for host in hosts
    ]
    assert [process.wait() for process in processes] == [0] * len(hosts)


def killed(store, choose, truth):
    """Kills exports in several parts: objects are whole or absent, and the log stays as it was."""
    zones, cycles = write_log(pathlib.Path("long", "profile_log_device.csv"), choose, 60_000)
    start = time.monotonic()
    store.run(*export("long", URL))
    whole_s = time.monotonic() - start
    store.run(*export("long", "dataset"))
    largest = max(path.stat().st_size for path in pathlib.Path("dataset").rglob("*long*.parquet"))
    assert largest > 8 << 20, f"expected an upload of several parts, found {largest} bytes"
    truth["long"] = cycles
    check_page(store, truth, f"an upload of several parts, {zones} zones")
    ended = 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            store.command(*export("long", URL)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(choose.uniform(0, whole_s))
        process.kill()
        ended += process.wait() == 0
        by_log = cycles_by_host(DeltaTable(f"{URL}/zones").to_pyarrow_table()
                                .group_by("host").aggregate([("duration_cycles", "sum")])
                                .rename_columns({"duration_cycles_sum": "cycles"}))
        assert by_log == truth, by_log
        for name in store.names():
            if name.endswith(".parquet"):
                with store.files.open(name, "rb") as file:
                    file.seek(-4, 2)
                    assert file.read() == b"PAR1", name
    print(f"{KILLS} exports, of which {KILLS - ended} were killed before their end: whole each time")
    store.run(*export("long", URL))


def check_refusals(store):
    here = export("host-1", URL)
    elsewhere = export("host-1", "s3://no-such-bucket/dataset")
    line = store.refusal(*elsewhere)
    assert "s3://no-such-bucket/dataset" in line and "does not exist" in line and "<" not in line, line
    line = store.refusal(*here, AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert URL in line and "127.0.0.1:1" in line, line
    line = store.refusal(*export("host-1", "ftp://host/dataset"))
    assert "expected a URL such as s3://bucket/name" in line, line
    line = store.refusal("compact", "s3://fleet/nothing")
    assert "expected a dataset" in line, line
    print("4 refusals, one sentence each")


def main():
    kprof, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    seed = int(os.environ.get("KPROF_OBJECTS_SEED", random.randrange(1 << 32)))
    print(f"seed {seed} (KPROF_OBJECTS_SEED gives another)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    store, choose, truth = Store(kprof), random.Random(seed), {}
    for host in "host-1", "host/2 ä", "host-3":
        truth[host] = write_log(pathlib.Path(host, "profile_log_device.csv"), choose, 20)[1]
        for to in URL, "dataset":
            store.run(*export(host, to, "--delta-log"))
    check_same(store, "exports")
    check_page(store, truth, "exports")
    check_refusals(store)
    for to in URL, "dataset":
        store.run("compact", to)
    check_same(store, "compaction")
    check_page(store, truth, "compaction")
    at_once(store, choose, truth)
    check_same(store, "exports at the same time")
    check_page(store, truth, "exports at the same time")

    store.run("merge", URL, "-o", "s3://fleet/merged")
    store.run("merge", "dataset", "-o", "merged")
    reports = sorted(path.name for path in pathlib.Path("merged").iterdir() if path.is_file())
    assert reports == ["hosts.csv", "ops_perf_results.csv", "rank_skew.csv", "trace.pftrace"], reports
    for name in reports:
        with store.files.open(f"fleet/merged/{name}", "rb") as file:
            assert file.read() == pathlib.Path("merged", name).read_bytes(), name
    assert [name.split("/")[-1] for name in store.names("fleet/merged")] == reports
    print(f"merge: {len(reports)} reports, the same bytes as in a folder")

    killed(store, choose, truth)
    check_same(store, "after the kills")
    print(f"rows of the tables: {rows_of_logs()}")
    print("passed")


main()
