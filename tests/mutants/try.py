#!/usr/bin/env python3
"""Puts mistakes into the product's code, one at a time: each must make a test fail.

Run from the root of a checkout whose product code has no changes. Each test must first pass
without the mistake. A changed file gets its text back before the next one is changed.

    python3 tests/mutants/try.py               # all of them
    python3 tests/mutants/try.py device: clock # those whose name contains one of these texts
    python3 tests/mutants/try.py --texts       # only whether each text to change is there once

The names that begin with `device:` are of mistakes about the chip that this project has made
and that its own simulator once shared.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

READER = "host-reader/reader/src/"
# Only the fixed seeds are run, so the outcome is the same every time.
FIXED = "truth::what_is_read_is_what_was_pushed_in_fixed_runs"
TRUTH = ["cargo", "test", "--offline", "-q", "-p", "tests", "--test", "system", FIXED]
SIM = ["cargo", "test", "--offline", "-q", "-p", "kprof-sim", "--lib", "--", "--exact"]
SCRIPTS = [*SIM, "machine::tests::scripts_leave_the_records_of_their_steps"]
WRITES = [*SIM, "machine::tests::a_launch_ends_after_writes_that_a_kernel_did_not_count"]
NOC_EVENTS = [*SIM, "machine::tests::noc_events_say_what_the_noc_did"]
# Tests of the C++ header in tt-metal's tree. KPROF_TTNN names the tree.
HAZARDS = ["cargo", "test", "--offline", "-q", "-p", "tests", "--test", "tt_metal", "hazards::"]
DATAFLOW = [*HAZARDS[:-1], "noc_events::"]
TURNS = [*HAZARDS[:-1], "turns::"]
RING = ["cargo", "test", "--offline", "-q", "-p", "kernel-profiler", "--lib", "testing::"]
READ = ["cargo", "test", "--offline", "-q", "-p", "kprof-reader", "--lib", "read::tests::turns::"]
WAITS = [*TRUTH[:-1], "waits::waits_that_are_read_are_those_that_blocked"]
WAIT_SUMS = ["cargo", "test", "--offline", "-q", "-p", "kernel-profiler", "--lib", "wait::"]
HEADER_WAITS = [*HAZARDS[:-1], "waits::sums_and_blocked_waits_say_how_long_a_kernel_waited"]
PIPELINE = [*HAZARDS[:-1], "pipeline::"]
WINDOWS = [*RING[:-1], "testing::windows::"]
ACCUMULATED = [*RING[:-1], "testing::accumulated::"]
BUFFERS = ["cargo", "test", "--offline", "-q", "-p", "kprof-host-events", "--lib", "buffers::"]
DISPATCH = [*HAZARDS[:-1], "dispatch::kernels_of_dispatch_cores_carry_a_queue_out"]
COMMANDS = ["cargo", "test", "--offline", "-q", "-p", "kprof-recording", "--lib", "dispatch::"]
MATCHED = ["cargo", "test", "--offline", "-q", "-p", "kprof-reports", "--lib", "dispatch_launches::"]
SIZES = ["cargo", "test", "--offline", "-q", "-p", "kprof-analysis", "--lib", "size_field::"]
# Unit tests of the decoder. In the truth runs, two rules of the decoder detect the same damage;
# these tests check each rule alone.
DECODE = ["cargo", "test", "--offline", "-q", "-p", "kprof-reader", "--lib", "decode::"]
CLOCK = ["cargo", "test", "--offline", "-q", "-p", "kprof-reader", "clock"]

SUCCESSION = [*TRUTH[:-1], "relays::a_relay_that_dies_is_succeeded_by_another"]
MET = [*TRUTH[:-1], "relays::a_reader_that_meets_a_successor"]
RELAYED = [*RING[:-1], "testing::relayed::"]
FRAMES = [*DECODE[:-1], "stream::frame::"]
LIVE = [*DECODE[:-1], "read::tests::rings::live::"]

FIRMWARE = "sim/objects/firmware/src/hardware.rs"
RUNTIME = "kernel-profiler/src/tensix/noc.rs"
REGISTERS = "kernel-profiler/src/registers.rs"
INCLUDE = "kernel-profiler/include/"
HEADER = INCLUDE + "kernel_profiler/"
TABLES = "sim/src/machine/coordinates.rs"

# Code that reserves room for a NoC event without addresses.
DATA_WORDS = (
    "        const WORDS: u32 = word_count(PacketKind::TimestampedData.record_words());\n"
    "        if port.can_quick_push() {\n"
)

# Name, file, text that occurs once in the file, replacement, and the tests that must then fail.
MUTANTS = [
    (
        "relays: cells that a second relay repeats are counted twice",
        READER + "read/rings/frames.rs",
        "let repeated = ahead.min(0).unsigned_abs()",
        "let repeated = 0 * ahead.min(0).unsigned_abs()",
        SUCCESSION,
    ),
    (
        "relays: the frames of a successor are read first",
        READER + "read/relays.rs",
        "in_terms.sort_by_key(|relay| relay.word(words::TERM));",
        "in_terms.sort_by_key(|relay| !relay.word(words::TERM));",
        SUCCESSION,
    ),
    (
        "relays: what a relay that is gone has read is not missed",
        READER + "read/relays.rs",
        "let is_first = relay.word(words::TERM) == 0;",
        "let is_first = true;",
        MET,
    ),
    (
        "relays: what an earlier reader has read is missed",
        READER + "read/rings/frames.rs",
        "if has_all && ring.read_count == 0 && ring.next == 0 && first != 0 {",
        "if has_all && ring.read_count == 0 && ring.next == 0 && first == 1 {",
        MET,
    ),
    (
        "relays: the slots of a whole ring are taken for its oldest cells",
        READER + "stream/frame.rs",
        "let first = span.first.wrapping_sub(span.first_in_frame());",
        "let first = span.first & 1;",
        FRAMES,
    ),
    (
        "relays: a frame counts before it is in DRAM",
        "kernel-profiler/src/relay/mod.rs",
        "        self.await_quiet(slot)?;\n        if self.has_host_sink",
        "        if self.has_host_sink",
        RELAYED,
    ),
    (
        "relays: a frame counts before it is in the host's memory",
        "kernel-profiler/src/relay/mod.rs",
        "        if self.has_host_sink && ring_bytes != 0 {",
        "        if false {",
        RELAYED,
    ),
    (
        "relays: a producer may have two visits under way",
        "kernel-profiler/src/relay/mod.rs",
        "visits_end: behind(producer_count.max(BUFFER_COUNT)),",
        "visits_end: behind(producer_count),",
        RELAYED,
    ),
    (
        "relays: the sum in a header lacks the number of launches",
        "kernel-profiler/src/relay/visit.rs",
        "sum = sum.wrapping_add(self.port.load(control.wrapping_add(bytes(launches.start))));",
        "let _ = launches;",
        RELAYED,
    ),
    (
        "live: reads that are put off are tried again at once",
        READER + "read/live.rs",
        "if period < ATTEMPT_PERIOD {",
        "if period > ATTEMPT_PERIOD {",
        LIVE,
    ),
    (
        "windows: a wait that begins before a window and ends in it is left out",
        "wire/src/wait.rs",
        "self.is_open(begun) || (begun ^ ended) >> self.period_log2 != 0",
        "{ let _ = ended; self.is_open(begun) }",
        WINDOWS,
    ),
    (
        "windows: the phase that is told is that of a wait's begin",
        "kernel-profiler/src/wait.rs",
        "phase: windows.phase(ended.low) };",
        "phase: windows.phase(ended.low.wrapping_sub(wait.cycles)) };",
        WINDOWS,
    ),
    (
        "windows: signals are recorded outside of them, too",
        "kernel-profiler/src/wait.rs",
        "if windows.is_open(now.low) {",
        "if windows.is_open(now.low) || true {",
        WINDOWS,
    ),
    (
        "accumulate: no room is kept for the next launch",
        "kernel-profiler/src/accumulate.rs",
        "if fullest + longest > word_count(vector::VECTOR_WORDS) {",
        "if fullest > word_count(vector::VECTOR_WORDS) {",
        ACCUMULATED,
    ),
    (
        "accumulate: prepared runs stay those of the last generation",
        "kernel-profiler/src/accumulate.rs",
        "if !is_prepared || port.load(run + offset(ID_LH)) != id {",
        "if { let _ = (run, id); !is_prepared } {",
        ACCUMULATED,
    ),
    (
        "accumulate: free guaranteed slots of a refused run are no markers",
        "kernel-profiler/src/accumulate.rs",
        "runs.markers += SLOTS;",
        "runs.markers += 0 * SLOTS;",
        ACCUMULATED,
    ),
    (
        "buffers: what was allocated before an op is not in its peak",
        "host-reader/host-events/src/buffers.rs",
        "let from = first.saturating_sub(1);",
        "let from = first;",
        BUFFERS,
    ),
    (
        "buffers: what changes at an op's last nanosecond is not in its peak",
        "host-reader/host-events/src/buffers.rs",
        "partition_point(|(time_ns, _)| *time_ns <= end_ns)",
        "partition_point(|(time_ns, _)| *time_ns < end_ns)",
        BUFFERS,
    ),
    (
        "buffers: points of several threads stay in the order of the threads",
        "host-reader/host-events/src/buffers.rs",
        "points.sort_by_key(|(time_ns, _)| *time_ns)",
        "points.sort_by_key(|_| 0)",
        BUFFERS,
    ),
    (
        "dispatch: the zone of a push has an id that no log names",
        HEADER + "quick_push.hpp",
        'KERNEL_PROFILER_SITE("PROFILER-NOC-QUICK-PUSH") constexpr',
        'KERNEL_PROFILER_SITE("PROFILER-NOC-QUICK-PUSH")\nconstexpr',
        DISPATCH,
    ),
    (
        "dispatch: no room is kept for the data of a command",
        HEADER + "ring.hpp",
        "dispatch == DoingDispatch::DISPATCH        ? 64",
        "dispatch == DoingDispatch::DISPATCH        ? 0",
        DISPATCH,
    ),
    (
        "dispatch: the sort of small writes is taken from the wrong bits",
        "host-reader/recording/src/dispatch.rs",
        "named(&PACKED_WRITES, value >> 1)",
        "named(&PACKED_WRITES, value >> 2)",
        COMMANDS,
    ),
    (
        "dispatch: programs of two turns of 16 bits are one",
        "host-reader/reports/src/report/dispatch_launches.rs",
        "cores.iter_mut().for_each(|rows| unwrap_ids(rows));",
        "let _ = unwrap_ids;",
        MATCHED,
    ),
    (
        "dispatch: a launch before its commands is theirs",
        "host-reader/reports/src/report/dispatch_launches.rs",
        "find(|&position| position >= next)",
        "find(|_| true)",
        MATCHED,
    ),
    (
        "dispatch: ids are taken for encoded ones where some could be",
        "host-reader/reports/src/report/dispatch_launches.rs",
        "encoded_count > ids.iter()",
        "encoded_count > 0 * ids.iter()",
        MATCHED,
    ),
    (
        "dispatch: a launch is that of two programs",
        "host-reader/reports/src/report/dispatch_launches.rs",
        "Some(known) if known.id == op.id => *known = op,",
        "Some(known) => *known = op,",
        MATCHED,
    ),
    (
        "dispatch: a program is that of half a turn later",
        "host-reader/reports/src/report/dispatch_launches.rs",
        "(between < ID_COUNT / 2).then_some(position)",
        "(between < ID_COUNT).then_some(position)",
        MATCHED,
    ),
    (
        "waits: twice the cycles in both records, C++",
        HEADER + "waits.hpp",
        '"sub t2, t3, t2\\n\\t"',
        '"sub t2, t3, t2\\n\\tslli t2, t2, 1\\n\\t"',
        PIPELINE,
    ),
    (
        "waits: the header makes an id on another line than it names",
        HEADER + "waits.hpp",
        'KERNEL_PROFILER_SITE(KERNEL_PROFILER_WAIT_TOTAL_ZONE) constexpr',
        'KERNEL_PROFILER_SITE(KERNEL_PROFILER_WAIT_TOTAL_ZONE)\nconstexpr',
        PIPELINE,
    ),
    (
        "noc: a write of exactly 8 KiB is a posted write of nothing",
        "host-reader/analysis/src/noc_events/size_field.rs",
        "|| chunk_count == 0 && matches!(kind, NocEventKind::Write | NocEventKind::WriteMulticast)",
        "|| chunk_count == 1 && matches!(kind, NocEventKind::Write | NocEventKind::WriteMulticast)",
        SIZES,
    ),
    (
        "turn: a lane that has turned reaches what is unread",
        "kernel-profiler/src/lane.rs",
        "if is_behind { consumed - PUSH_ALIGN_WORDS } else { words }",
        "if is_behind { consumed } else { words }",
        RING,
    ),
    (
        "turn: a lane turns before the host has followed",
        "kernel-profiler/src/lane.rs",
        "if can_turn && !is_behind && count < consumed {",
        "if can_turn && count < consumed {",
        RING,
    ),
    (
        "turn: what was read counts for lanes that are handed back",
        "kernel-profiler/src/launch.rs",
        "port.store(core + CONSUMED, 0);",
        "",
        RING,
    ),
    (
        "turn: the C++ header turns before the host has followed",
        HEADER + "lanes.hpp",
        "if (can_turn && !is_behind && count < consumed) {",
        "if (can_turn && count < consumed) {",
        TURNS,
    ),
    (
        "turn: the C++ header forgets where the lane turned",
        HEADER + "lanes.hpp",
        "(position << (32 - TURN_SHIFT) | count) - end",
        "count - end",
        TURNS,
    ),
    (
        "turn: a reader leaves what lies before the turn",
        "wire/src/lane_end.rs",
        "Some(mark) if read > self.end => [read..mark, 0..self.end],",
        "Some(_) if read > self.end => [0..0, 0..self.end],",
        READ,
    ),
    (
        "turn: a reader does not say how far it has read",
        READER + "read/acknowledge.rs",
        "*word = lane.end.end;",
        "let _ = &word;",
        READ,
    ),
    (
        "waits: sums of one launch kept for the next",
        "kernel-profiler/src/wait.rs",
        "        self.waits().count = 0;\n",
        "",
        WAITS,
    ),
    (
        "waits: one wait counted twice",
        "kernel-profiler/src/wait.rs",
        "object.waits.saturating_add(1)",
        "object.waits.saturating_add(2)",
        WAITS,
    ),
    (
        "waits: sums of two kinds added up as one",
        "kernel-profiler/src/wait.rs",
        "object.key == wait.key && object.kind == wait.kind",
        "object.key == wait.key",
        WAIT_SUMS,
    ),
    (
        "waits: the beginning of a wait recorded as its cycles, C++",
        HEADER + "waits.hpp",
        "record_blocked_wait<ID>(KIND, key, cycles);",
        "record_blocked_wait<ID>(KIND, key, begun);",
        HEADER_WAITS,
    ),
    (
        "waits: a barrier of either NoC recorded as one of NoC 0, C++",
        HEADER + "waits.hpp",
        "sums[first_barrier(KIND) + (key & (NOCS - 1))]",
        "sums[first_barrier(KIND)]",
        HEADER_WAITS,
    ),
    (
        "waits: a full barrier that has blocked does not wait for atomics, C++",
        HEADER + "barriers.hpp",
        "        poll_until<false>([=]() { return ncrisc_noc_nonposted_atomics_flushed(noc); });\n",
        "",
        [*HAZARDS[:-1], "waits::a_full_barrier_that_blocks"],
    ),
    (
        "waits: a wait that finds what it waits for recorded, C++",
        HEADER + "waits.hpp",
        "__builtin_expect(state > POLLED, 0)",
        "__builtin_expect(state >= POLLED, 0)",
        HEADER_WAITS,
    ),
    (
        "waits: room in a buffer recorded as tiles, C++",
        HEADER + "waits.hpp",
        "KERNEL_PROFILER_FIND_SUMS(sums, waits_for_room);",
        "KERNEL_PROFILER_FIND_SUMS(sums, waits_for_tiles);",
        HEADER_WAITS,
    ),
    (
        "device: reset addresses of a Wormhole where a Blackhole has them",
        FIRMWARE,
        'if cfg!(feature = "blackhole") { 0xFFB1_2228 } else { configuration(158) };',
        'if cfg!(feature = "blackhole") { 0xFFB1_2228 } else { 0xFFB1_2228 + 0 * configuration(0) };',
        SCRIPTS,
    ),
    (
        "device: acknowledgement coordinate not set, Wormhole",
        RUNTIME,
        "Register(noc + TARG_ADDR_MID).write(me << WORMHOLE_COORDINATE_SHIFT);",
        "let _ = me << WORMHOLE_COORDINATE_SHIFT;",
        SCRIPTS,
    ),
    (
        "device: acknowledgement coordinate not set, Blackhole",
        RUNTIME,
        "Register(noc + TARG_ADDR_HI).write(me);",
        "let _ = me;",
        SCRIPTS,
    ),
    (
        "device: acknowledgement coordinate not set, C++",
        HEADER + "push.hpp",
        "    write_word(buffer + TARG_COORDINATE, own >> (OWN_COORDINATES_SHIFT - COORDINATE_SHIFT));\n",
        "    static_cast<void>(own);\n",
        HAZARDS,
    ),
    (
        "device: registers saved that a Wormhole's command buffer lacks",
        REGISTERS,
        'cfg!(feature = "blackhole") || (offset != TARG_ADDR_HI && offset != RET_ADDR_HI)',
        "offset < CMD_CTRL || (offset != TARG_ADDR_HI && offset != RET_ADDR_HI)",
        SCRIPTS,
    ),
    (
        "device: registers saved that a Wormhole's command buffer lacks, C++",
        HEADER + "quick_push.hpp",
        "return IS_BLACKHOLE || (4 * index != TARG_ADDR_HI && 4 * index != RET_ADDR_HI);",
        "return index < REGISTERS;",
        HAZARDS,
    ),
    (
        "device: coordinates of banks not mirrored on NoC 1",
        TABLES,
        "chip.translation.dram(noc as usize, tile)",
        "chip.translation.dram(0 * noc as usize, tile)",
        WRITES,
    ),
    (
        "device: NoC 0's coordinates of banks taken for NoC 1",
        RUNTIME,
        "let row = u32::from(noc_index()) * Tensix(()).bank_count();",
        "let row = 0;",
        WRITES,
    ),
    (
        "device: NoC 0's coordinates of banks taken for NoC 1, C++",
        HEADER + "tt_metal.hpp",
        "return dram_bank_to_noc_xy[noc_index][bank];",
        "return dram_bank_to_noc_xy[0][bank];",
        HAZARDS,
    ),
    (
        "device: coordinates of DRAM not translated on a Blackhole",
        TABLES,
        "let place = tile.and_then(|tile| chip.translation.dram(noc as usize, tile));",
        "let place = tile.and_then(|tile| match chip.arch {\n"
        "        Arch::Blackhole => Some((tile.x, tile.y)),\n"
        "        Arch::WormholeB0 => chip.translation.dram(noc as usize, tile),\n"
        "    });",
        SCRIPTS,
    ),
    (
        "device: waits for writes that the kernel has sent",
        RUNTIME,
        "let has_arrived = is_zero_soon(noc + STATUS_REQUESTS_OUTSTANDING);",
        "let acked = variable(&raw mut symbols::noc_nonposted_writes_acked, noc_index() as usize);\n"
        "        while Register(noc + 0x204).read() != Word(acked).load() {}\n"
        "        let has_arrived = true;",
        WRITES,
    ),
    (
        "device: waits for writes that the kernel has sent, C++",
        HEADER + "push.hpp",
        "return await_word<true, NOC_POLLS>(noc + PUSHES_OUTSTANDING) == 0;",
        # The number of polls is limited, so the tests do not hang in each case.
        "for (uint32_t polls = 1 << 12; polls != 0; --polls) {\n"
        "        if (read_word(noc + 0x204) == noc_nonposted_writes_acked[noc_index]) {\n"
        "            return true;\n        }\n    }\n    return false;",
        HAZARDS,
    ),
    (
        "device: NoC 1 called the first in a NoC event",
        "wire/src/noc_event.rs",
        "if noc == 1 { 2 } else { 1 }",
        "if noc == 2 { 2 } else { 1 }",
        NOC_EVENTS,
    ),
    (
        "device: bytes of a NoC event rounded down",
        "wire/src/noc_event.rs",
        "byte_count.div_ceil(CHUNK_BYTES)",
        "byte_count / CHUNK_BYTES",
        NOC_EVENTS,
    ),
    (
        "device: NoC events dropped where the buffer is full",
        "kernel-profiler/src/noc_event.rs",
        DATA_WORDS + "            self.flush_to_dram_if_full(port, WORDS);\n",
        DATA_WORDS + "            let _ = WORDS;\n",
        NOC_EVENTS,
    ),
    (
        "device: NoC events dropped where the buffer is full, C++",
        HEADER + "ring.hpp",
        "if (!bufferHasRoom<DISPATCH>(additional_words > LARGEST ? additional_words : LARGEST)) {",
        "if (additional_words > LARGEST) {",
        DATAFLOW,
    ),
    (
        "device: a NoC event of a transfer that was not made",
        "sim/src/kernel/script_body.rs",
        "    environment.transfer(&transfer);\n",
        "",
        NOC_EVENTS,
    ),
    (
        "last record of odd lanes lost",
        READER + "decode/mod.rs",
        "        self.lower_last_time();\n        for window",
        "        self.lower_last_time();\n"
        "        if self.lane.heads.len() % 2 == 1 && self.lane.heads.last().is_some_and(|h| h.data_count() == 0) {\n"
        "            self.lane.heads.pop();\n            self.lane.times.pop();\n        }\n        for window",
        TRUTH,
    ),
    (
        "control settling off",
        READER + "read/plan.rs",
        "    const ATTEMPTS: usize = 8;\n",
        "    const ATTEMPTS: usize = 0;\n",
        TRUTH,
    ),
    (
        "losses counted again at each read",
        READER + "read/memory.rs",
        "            words: Some(control.words),",
        "            words: self.words,",
        TRUTH,
    ),
    (
        "stale runs accepted",
        READER + "decode/words.rs",
        "self.context.lane_generation.is_none_or(|generation| header.generation == generation)",
        "header.generation < 8",
        DECODE,
    ),
    (
        "leftovers accepted",
        READER + "decode/damage.rs",
        "        self.context.lane_generation?;\n",
        "        self.context.lane_generation.filter(|_| false)?;\n",
        DECODE,
    ),
    (
        "lanes read from their beginning every time",
        READER + "read/memory.rs",
        "                *words = lane.end.end;",
        "                *words = 0;",
        TRUTH,
    ),
    (
        "range of stamps not taken from the clock",
        READER + "decode/time.rs",
        "        self.epoch = epoch;\n",
        "",
        TRUTH,
    ),
    (
        "read acknowledged although a lane could not be read",
        READER + "read/acknowledge.rs",
        "if !is_whole || run_counter",
        "if run_counter",
        ["cargo", "test", "--offline", "-q", "-p", "kprof-reader", "--lib", "read::tests"],
    ),
    (
        "clock bound halved",
        "host-reader/reader/src/clock/line.rs",
        "        self.bound.at(distance) + ROUNDING",
        "        0.5 * self.bound.at(distance) + ROUNDING",
        CLOCK,
    ),
]




def stale(path: str, old: str) -> str:
    """Returns what is wrong with the text to change, if anything is."""
    count = pathlib.Path(path).read_text().count(old)
    return "" if count == 1 else f"STALE: the text to change is {count} times in {path}"


def fails(tests: list[str], **variables: str) -> tuple[bool, str]:
    """Runs tests; returns whether they fail, and what they wrote."""
    counts = {
        "KPROF_TRUTH_FIXED": "200",
        "KPROF_LANES_COUNT": "60000",
        "KPROF_PROGRAMS_COUNT": "2500",
        "KPROF_WAITS_COUNT": "8",
        # Other tests have their full sizes.
        "KPROF_FULL_SIZES": "1",
    }
    environment = os.environ | counts | variables
    result = subprocess.run(tests, capture_output=True, text=True, env=environment)
    return result.returncode != 0, result.stdout + result.stderr


def passes_unchanged(tests: list[str], known: dict[tuple[str, ...], bool]) -> bool:
    """Returns whether tests that some mistake must fail run and pass without it."""
    key = tuple(tests)
    if key not in known:
        has_failed, output = fails(tests)
        known[key] = not has_failed and any(
            f"\nrunning {count} test" in output for count in range(1, 1000)
        )
    return known[key]


def outcome(path: str, old: str, new: str, tests: list[str]) -> str:
    """Puts a mistake into a file, runs the tests, and gives the file its text back."""
    file = pathlib.Path(path)
    text = file.read_text()
    if problem := stale(path, old):
        return problem
    if path.startswith(INCLUDE):
        # The tests compile the header themselves. With a copy of the header, nothing else is built.
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(INCLUDE, pathlib.Path(folder) / "include")
            (copy / path.removeprefix(INCLUDE)).write_text(text.replace(old, new))
            has_failed, output = fails(tests, KPROF_HEADER=str(copy))
    else:
        try:
            file.write_text(text.replace(old, new))
            has_failed, output = fails(tests)
        finally:
            file.write_text(text)
    if "could not compile" in output or "does not compile" in output:
        return "DOES NOT COMPILE"
    return "noticed" if has_failed else "NOT NOTICED"


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that files get their text back.
    if sys.argv[1:] == ["--texts"]:
        problems = [f"{name}: {stale(path, old)}" for name, path, old, *_ in MUTANTS if stale(path, old)]
        print("\n".join(problems) or "every text is there once")
        return 1 if problems else 0
    wanted = sys.argv[1:] or [""]
    mutants = [mutant for mutant in MUTANTS if any(text in mutant[0] for text in wanted)]
    known: dict[tuple[str, ...], bool] = {}
    unnoticed = [] if mutants else [f"no name contains any of {wanted}"]
    for name, path, old, new, tests in mutants:
        if passes_unchanged(tests, known):
            result = outcome(path, old, new, tests)
        else:
            result = "ITS TESTS FAIL OR DO NOT RUN WITHOUT IT: " + " ".join(tests)
        print(f"{name}: {result}", flush=True)
        if result != "noticed":
            unnoticed.append(name)
    print("all noticed" if not unnoticed else f"not noticed: {unnoticed}")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
