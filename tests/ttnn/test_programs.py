"""Programs that a stock ttnn builds: `kprof programs` against what a program has planted."""

from __future__ import annotations

import json
import os

import pytest
from test_process import SIMULATOR, cache, recorded_in, run, variables

__all__ = ["cache", "variables"]


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory, variables):
    """The recorded program, what `kprof programs` says of it, and what it has planted."""
    folder = tmp_path_factory.mktemp("programs")
    planted = folder / "planted.json"
    recorded = recorded_in(
        folder, variables, "rebuilt.py", str(planted), options=("-r", "--simulate", SIMULATOR)
    )
    assert recorded.exit_code == 0, recorded.said
    shown = run([os.environ["KPROF"], "programs", str(recorded.output), "--json"], {})
    assert shown.returncode == 0, shown.stderr
    return recorded, json.loads(shown.stdout), json.loads(planted.read_text())


def rows_by_id(recorded) -> dict[int, int]:
    """The ids of launches by the ids of rows, which a spreadsheet counts from 2."""
    return {at: int(row["GLOBAL CALL COUNT"]) >> 10 for at, row in enumerate(recorded.rows, 2)}


def test_what_is_planted_is_found_and_nothing_else(rebuilt):
    recorded, found, planted = rebuilt
    launches = rows_by_id(recorded)
    assert sorted(launches.values()) == [launch for launch, _, _ in planted]
    hits = {int(row["GLOBAL CALL COUNT"]) >> 10: row["PROGRAM CACHE HIT"] for row in recorded.rows}
    assert hits == {launch: str(not is_built) for launch, is_built, _ in planted}
    reasons = {}
    for site in found["sites"]:
        for rebuild in site["rebuilds"]:
            reason = rebuild["reason"]
            changes = [change["name"] for change in reason.get("changes", [])]
            kind = {"arguments": changes, "cache_cleared": "cleared"}[reason["kind"]]
            reasons[launches[rebuild["row_id"]]] = kind
    assert reasons == {launch: reason for launch, _, reason in planted if reason}
    assert found["all"]["call_count"] == len(planted)
    assert found["all"]["built_count"] == sum(is_built for _, is_built, _ in planted)
    assert found["all"]["rebuilt_count"] == len(reasons)
    assert found["all"]["unknown_count"] == 0


def test_places_are_the_lines_and_modules_that_call(rebuilt):
    recorded, found, planted = rebuilt
    calls = {}
    for row in recorded.rows:
        place = row["OP CODE"], row["CALL LOCATION"], row["MODULE"] or None
        calls[place] = calls.get(place, 0) + 1
    sites = {(s["op_code"], s["location"], s["module"]): s["call_count"] for s in found["sites"]}
    assert sites == calls
    assert {place[2] for place in sites} == {"Model", "Model#2", None}


def test_the_parts_of_the_host_s_time_fit_into_it(rebuilt):
    recorded, found, _ = rebuilt
    compiled = 0
    for row in recorded.rows:
        host, dispatch = int(row["HOST DURATION [ns]"]), int(row["HOST DISPATCH DURATION [ns]"])
        if row["PROGRAM CACHE HIT"] == "True":
            assert row["CompileProgram_TT_HOST_FUNC [ns]"] == row["HOST BUILD DURATION [ns]"] == ""
            assert 0 <= dispatch <= host, row
        else:
            build, compile_ns = (
                int(row[title]) for title in ("HOST BUILD DURATION [ns]", "CompileProgram_TT_HOST_FUNC [ns]")
            )
            compiled += compile_ns
            # The clocks of the call and of the launch are read one after the other.
            assert 0 < build and 0 < compile_ns and build + compile_ns + dispatch <= host + 200_000, row
    assert found["all"]["compile_ns"] == compiled
    assert found["all"]["host_time_ns"] == sum(int(row["HOST DURATION [ns]"]) for row in recorded.rows)
    assert found["all"]["without_host_time_count"] == found["all"]["without_compile_count"] == 0


def test_a_gate_fails_on_a_program_that_is_built_again(rebuilt):
    recorded, _, _ = rebuilt
    gate = run([os.environ["KPROF"], "programs", str(recorded.output), "--fail-on-rebuild"], {})
    assert gate.returncode == 1, gate.stdout
    assert "core_grid: not given -> " in gate.stdout and "the program has cleared the cache" in gate.stdout
