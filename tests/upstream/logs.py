"""Makes `.logs` folders as tt-metal leaves them: a device log, op messages and op times.

Everything follows from the seed. Times are such that tt-metal's own scripts accept them: no
duration is zero, and the master firmware of a core ends last.
"""

import json
import random
from pathlib import Path

TITLES = (
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, "
    "run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data"
)
FALLBACK = 1 << 31
# Processors of a core. The firmware of the last one ends a launch.
TENSIX = ["NCRISC", "TRISC_0", "TRISC_1", "TRISC_2", "BRISC"]
QUASAR = [
    *(f"QUASAR_DM{number}" for number in range(1, 8)),
    *(f"QUASAR_NEO{neo}_TRISC{number}" for neo in range(4) for number in range(4)),
    "QUASAR_DM0",
]


def zones_of(risc):
    """How the firmware's and the kernel's zone of a processor begin."""
    if risc.startswith("QUASAR_DM"):
        return ("DM0" if risc == "QUASAR_DM0" else "DM"), "DM"
    zone = "TRISC" if "TRISC" in risc else risc
    return zone, zone


def counter_banks():
    """Names of hardware counters, by bank."""
    threads = ("THREAD_STALLS", "THREAD_INSTRUCTIONS", "MATH_INSTRN_AVAILABLE", "CFG_INSTRN_AVAILABLE")
    waits = ("THCON_IDLE", "UNPACK_IDLE", "PACK_IDLE", "MATH_IDLE", "NONZERO_SEM", "NONFULL_SEM", "SFPU_IDLE")
    sources = [f"WAITING_FOR_SRC{source}_{what}" for source in "AB" for what in ("VALID", "CLEAR")]
    writes = ("WRITE_REQ", "WRITE_NOT_BLOCKED_PORT", "WRITE_NOT_BLOCKED_OVR", "WRITE_TID_EVEN", "WRITE_TID_ODD")
    rings = [
        f"L1_{bank}_NOC_RING{ring}_{way}_{port}"
        for bank, ring in ((0, 0), (1, 1))
        for way in ("OUTGOING", "INCOMING")
        for port in (0, 1)
    ]
    ports = ["L1_0_UNPACKER_0", "L1_0_UNPACKER_1_ECC", "L1_1_PACKER_IF_0", "L1_4_UNPACKER0_EXT_IF_1", *rings]
    ports += ["L1_0_TDMA_BUNDLE_0_RISC", "L1_0_TDMA_BUNDLE_1_TRISC", "L1_3_EXT_PACKER_2"]
    return {
        "fpu": ["FPU_COUNTER", "SFPU_COUNTER", "MATH_COUNTER"],
        "instruction": [f"{name}_{thread}" for name in threads for thread in range(3)]
        + [f"WAITING_FOR_{what}_{thread}" for what in waits for thread in range(3)]
        + ["ANY_THREAD_STALL", "SRCA_STALL_MATH", "DVALID_STALL_MATH", "DEST_STALL_PACK", *sources],
        "pack": ["PACKER_BUSY", "PACKER0_DEST_READ_REQ", "DEST_READ_GRANTED_0", "MATH_NOT_SCOREBOARD_STALLED"]
        + [f"PACKER_BUSY_{engine}" for engine in range(3)],
        "unpack": [f"UNPACK{unit}_BUSY_THREAD{thread}" for unit in (0, 1) for thread in (0, 1)]
        + [f"SRC{source}_{what}" for source in "AB" for what in writes]
        + ["MATH_INSTRN_AVAILABLE", "MATH_INSTRN_STARTED", "MATH_NOT_D2S_STALLED", "MATH_SRC_DATA_READY"],
        "l1": ports + [f"{port}_GRANT" for port in ports] + ["L1_0_PORT1_GRANT"],
    }


def quasar_banks():
    """The same of a Quasar, as its `quasar.h` lists them; of the L1 clients a run selects one."""
    names = ("CFG", "SYNC", "THCON", "INSTISSUE", "MATH", "UNPACK", "PACK")
    threads = [*(f"{name}_INSTRN_AVAILABLE" for name in names), "THREAD_STALLS", "THREAD_INSTRUCTIONS"]
    stalls = [
        *(f"TILE_COUNTER_STALL_{unit}" for unit in ("PACK", "UNPACK")),
        *(f"SRCS_STALL_{unit}" for unit in ("PACK", "SFPU", "UNPACK")),
        *(f"DEST_STALL_{unit}" for unit in ("PACK", "SFPU", "MATH", "UNPACK")),
        *(f"{unit}_DATA_HAZARD_STALL" for unit in ("SFPU", "FPU")),
        *("SRCB_STALL_UNPACK", "SRCA_STALL_UNPACK", "DVALID_STALL_MATH", "SRCA_STALL_MATH"),
    ]
    banks = counter_banks()
    unpack = [name for name in banks["unpack"] if name != "UNPACK1_BUSY_THREAD1"]
    return {
        "fpu": banks["fpu"],
        "instruction": [f"{name}_{thread}" for name in threads for thread in range(4)] + stalls,
        "pack": [name for name in banks["pack"] if not name.startswith("PACKER_BUSY_")]
        + ["MATH_NOT_STALLED_DEST_WR_PORT"],
        "unpack": unpack + ["UNPACK2_BUSY_THREAD0"],
        # Selections of L1 clients: an event of a lane, outstanding requests of both packers, an
        # event of a bank.
        "l1_client_7": [7],
        "l1_client_206": [206],
        "l1_client_294": [294],
        "l1_client_42": [42],
    }


class Logs:
    """One folder: several chips, ops with and without traces, signposts, sums."""

    def __init__(
        self,
        seed,
        devices=(0,),
        mhz=1000,
        cores=4,
        sums=False,
        sub_devices=False,
        counters=None,
        arch="wormhole_b0",
        dispatch=False,
    ):
        self.random = random.Random(seed)
        self.devices = list(devices)
        self.mhz = mhz
        self.cores = cores
        self.sums = sums
        self.sub_devices = sub_devices
        # The counter banks that are read; keys of `counter_banks`.
        self.counters = counters or []
        self.arch = arch
        self.dispatch = dispatch
        self.rows = []
        self.messages = ["MessageName;total_ns"]
        self.times = [
            "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text"
        ]
        self.now_ns = 1_000_000
        self.now_cycles = {device: self.random.randrange(10**9, 10**12) for device in self.devices}
        self.next_base = 1
        self.described = {}
        self.core_counts = {}

    def op_id(self, device):
        base, self.next_base = self.next_base, self.next_base + 1
        return (base << 10) | device

    def tick(self, most=50_000):
        self.now_ns += self.random.randrange(1_000, most)
        return self.now_ns

    def message(self, text, quoted=True):
        self.messages.append(f"`{text}`;{self.tick()}" if quoted else f"{text};{self.tick()}")

    def signpost(self, header, message=None):
        self.message(f"TT_SIGNPOST: {header}" + (f"\n{message}" if message else ""))

    def zone(self, name, op, child_calls=()):
        start, duration = self.tick(), self.random.randrange(500, 90_000)
        self.times.append(f"{name},/a/op.hpp,284,,id:{op},{start},{duration},1,")
        for call in child_calls:
            exec_ns = self.random.randrange(100, 900)
            self.times.append(f"{call},/a/c.hpp,9,,,{start + 1},{exec_ns},1,id:{op}")

    def tensor(self):
        pick = self.random.choice
        storage = pick(
            [
                "HOST",
                {
                    "device_id": 0,
                    "memory_config": {"buffer_type": "l1", "memory_layout": "interleaved"},
                },
            ]
        )
        shape = {axis: pick(["1[1]", "32[17]", "96[65]"]) for axis in "WZYX"}
        return {"storage_type": storage, "shape": shape, "layout": "TILE", "dtype": pick(["BFLOAT16", "UINT32"])}

    def description(self, name, op, device, program):
        number = self.random
        fields = {
            "global_call_count": op,
            "op_code": name,
            "op_type": "tt_dnn_device",
            "device_id": device,
            "op_hash": program,
            "program_cache_hit": False,
            "attributes": {
                "config": "Config(a=1,b='x')",
                "quoted": "it's \"so\"",
                "flag": number.choice(["true", "std::nullopt"]),
                "back": "c:\\d",
            },
            "input_tensors": [self.tensor() for _ in range(number.randrange(1, 4))],
            "output_tensors": [self.tensor() for _ in range(number.randrange(1, 3))],
            "kernel_info": {
                "compute_kernels": [
                    {"math_fidelity": "HiFi4", "source": "k/a.cpp", "name": "a/1/"},
                    {"math_fidelity": number.choice(["LoFi", "HiFi2"]), "source": "k/b,c.cpp", "name": "b/2/"},
                ],
                "datamovement_kernels": [{"source": "k/reader.cpp", "name": "reader/3/"}],
                "kernel_sizes": {
                    "TENSIX_DM_0_max_kernel_size": number.randrange(100, 9000),
                    "TENSIX_COMPUTE_2_max_kernel_size": number.randrange(100, 9000),
                    "ACTIVE_ETH_DM_0_max_kernel_size": 0,
                },
            },
            "performance_model": {
                "compute_ns": number.randrange(1, 4000),
                "ideal_ns": number.randrange(1, 4000),
                "bandwidth_ns": 1,
                "input_bws": [292.5714416503906, 0.1, 1e-7],
                "output_bws": [number.random() * 300],
            },
        }
        if number.random() < 0.4:
            fields["optional_input_tensors"] = [self.tensor()]
        if number.random() < 0.3:
            fields["parallelization_strategy"] = "single_core"
        return fields

    def host_op(self, device, program):
        """Announces an op, by reference if its program was announced before."""
        op = self.op_id(device)
        name = f"Op{program % 97}"
        prefix = f'TT_DNN_DEVICE_OP: "{name}", {program}, {device}, '
        if (device, program) in self.described:
            self.message(f"{prefix}true, {op}")
        else:
            self.described[device, program] = True
            described = json.dumps(self.description(name, op, device, program), indent=4)
            self.message(f"{prefix}false, {op} ->\n{described}\n")
        calls = self.random.choice([(), ("CompileProgram",), ("CompileProgram", "HWCommandQueue_write_buffer")])
        self.zone("TT_DNN_DEVICE_OP", op, calls)
        return op

    def fallback_op(self):
        op = FALLBACK | (self.next_base << 10)
        self.next_base += 1
        fields = {
            "global_call_count": op,
            "op_code": "torch.add",
            "op_type": "python_fallback",
            "attributes": {},
            "input_tensors": [self.tensor()],
        }
        self.message(f'TT_DNN_FALL_BACK_OP:"torch.add" ->\n{json.dumps(fields)}')
        self.zone("TT_DNN_FALL_BACK_OP", op)

    def row(self, device, core, risc, marker, time, data, op, trace, name, kind, meta=""):
        trace_id, counter = trace or ("", "")
        self.rows.append(
            f"{device},{core[0]},{core[1]},{risc},{marker},{time},{data},{op},{trace_id},{counter},"
            f"{name},{kind},12,/k/{name}.cpp,{meta}"
        )

    def device_op(self, device, op, trace=None):
        """Runs an op on some cores; each core has its own pace."""
        number = self.random
        begin = self.now_cycles[device] + number.randrange(300, 5000)
        end = begin
        meta = '{"sub_device_id":%d;"sub_device_manager_id":1}' % (op % 3) if self.sub_devices else ""
        # An op that is launched again uses the same cores: TT-Metal's scripts rely on this.
        core_count = self.core_counts.setdefault(op, number.randrange(1, self.cores + 1))
        for core in range(core_count):
            end = max(end, self.core_op(device, (core + 1, core % 3 + 2), op, trace, begin, meta))
        self.now_cycles[device] = end
        if self.dispatch:
            self.dispatch_op(device, (9, 9 + op // 1024 % 2), op, begin, trace)

    def dispatch_op(self, device, core, op, begin, trace):
        """What a dispatch core does for an op; the rows themselves are of no program."""
        number = self.random
        time = begin - number.randrange(100, 200)
        zone = number.choice(["CQ-DISPATCH", "CQ-DISPATCH-D"])

        def row(risc, name, kind, meta=""):
            nonlocal time
            time += number.randrange(1, 9)
            self.row(device, core, risc, 31, time, 0, 0, trace, name, kind, meta)

        def command(risc, name):
            row(risc, zone, "ZONE_START")
            row(risc, "process_cmd", "TS_DATA", '{"dispatch_command_type":"%s"}' % name)
            row(risc, zone, "ZONE_END")

        row("BRISC", "runtime_host_id_dispatch", "TS_DATA", '{"workers_runtime_id":%d}' % op)
        for _ in range(number.randrange(1, 5)):
            command("BRISC", number.choice(["CQ_DISPATCH_CMD_WAIT", "CQ_DISPATCH_CMD_WRITE_PACKED"]))
        command("BRISC", "CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL")
        command("NCRISC", "CQ_DISPATCH_CMD_WAIT")
        command("NCRISC", "CQ_DISPATCH_CMD_SEND_GO_SIGNAL")

    def core_op(self, device, core, op, trace, begin, meta):
        number = self.random
        begin += number.randrange(1, 200)
        *riscs, master = QUASAR if self.arch == "quasar" else TENSIX
        riscs = [risc for risc in riscs if number.random() < 0.8]
        last = begin
        emitted = []
        for risc in [*riscs, master]:
            firmware, zone = zones_of(risc)
            first = begin + number.randrange(1, 60) if risc != master else begin
            kernel = first + number.randrange(5, 90)
            kernel_end = kernel + number.randrange(100, 20_000)
            last = max(last, kernel_end + number.randrange(5, 90))
            firmware_end = last if risc != master else last + number.randrange(10, 200)
            zones = [(f"{firmware}-FW", first, firmware_end, 11), (f"{zone}-KERNEL", kernel, kernel_end, 12)]
            for name, start, stop, marker in zones:
                emitted.append((risc, marker, start, 0, name, "ZONE_START"))
                emitted.append((risc, marker, stop, 0, name, "ZONE_END"))
            emitted.append((risc, 77, kernel + 1, 5, "user", "TS_EVENT"))
            sums = {"TRISC_0": "CB-COMPUTE-WAIT-FRONT", "TRISC_2": "CB-COMPUTE-RESERVE-BACK"}
            if self.sums and risc in sums:
                emitted.append((risc, 78, first, number.randrange(1, 5000), sums[risc], "ZONE_TOTAL"))
            last = max(last, firmware_end)
        emitted.sort(key=lambda row: (row[0], row[2]))
        for risc, marker, time, data, name, kind in emitted:
            self.row(device, core, risc, marker, time, data, op, trace, name, kind, meta)
        self.read_counters(device, core, op, trace, begin + 60)
        return last

    def read_counters(self, device, core, op, trace, time):
        number = self.random
        if self.arch == "quasar":
            return self.read_quasar_counters(device, core, op, trace, time)
        for bank in self.counters:
            cycles = number.randrange(1_000, 90_000)
            for name in counter_banks()[bank]:
                if number.random() < 0.1:
                    continue
                value = number.choice([0, number.randrange(1, cycles + 1)])
                meta = '{"counter type":"%s";"ref cnt":%d;"value":%d}' % (name, cycles, value)
                time += 1
                self.row(device, core, "BRISC", 9090, time, value, op, trace, "", "TS_DATA", meta)

    def read_quasar_counters(self, device, core, op, trace, time):
        """DM 0 reads the four parts of a core and files the records among those of their TRISCs."""
        number = self.random
        for neo in range(4):
            if number.random() < 0.2:
                continue
            cycles = number.randrange(1_000, 90_000)
            written, room = 0, number.randrange(10, 80)
            for bank in self.counters:
                for counter in quasar_banks()[bank]:
                    if number.random() < 0.1:
                        continue
                    value = number.choice([0, number.randrange(1, cycles + 1)])
                    if isinstance(counter, int):
                        name, selection = "QUASAR_L1_CLIENT_EVENT", f'"counter sel":{counter};'
                    else:
                        name, selection = counter, ""
                    meta = '{%s"counter type":"%s";"neo":%d;"ref cnt":%d;"value":%d}'
                    meta %= (selection, name, neo, cycles, value)
                    time += 1
                    risc = f"QUASAR_NEO{neo}_TRISC{min(written // room, 3)}"
                    self.row(device, core, risc, 9090, time, value, op, trace, "", "TS_DATA", meta)
                    written += 1

    def trace(self, device, trace_id, programs, replays):
        self.message(f"TT_METAL_TRACE_BEGIN: {device}, {trace_id}")
        ops = [self.host_op(device, program) for program in programs]
        for op in ops:
            self.message(f"TT_METAL_TRACE_ENQUEUE_PROGRAM: {device}, {trace_id}, {op >> 10}")
        self.message(f"TT_METAL_TRACE_END: {device}, {trace_id}")
        for replay in range(1, replays + 1):
            self.message(f"TT_METAL_TRACE_REPLAY: {device}, {trace_id}")
            for op in ops:
                self.device_op(device, op, (trace_id, replay))

    def write(self, artifacts):
        logs = Path(artifacts) / ".logs"
        logs.mkdir(parents=True, exist_ok=True)
        first = f"ARCH: {self.arch}, CHIP_FREQ[MHz]: {self.mhz}, Max Compute Cores: 64"
        (logs / "profile_log_device.csv").write_text("\n".join([first, TITLES, *self.rows]) + "\n")
        (logs / "tracy_ops_data.csv").write_text("\n".join(self.messages) + "\n")
        (logs / "tracy_ops_times.csv").write_text("\n".join(self.times) + "\n")


def session(seed, traces=True, **shape):
    """A session with everything that a report can show."""
    logs = Logs(seed, **shape)
    logs.message("a message; of no interest", quoted=True)
    logs.signpost("start", "of everything")
    for round_number in range(4):
        for device in logs.devices:
            for _ in range(logs.random.randrange(1, 4)):
                op = logs.host_op(device, logs.random.randrange(1, 6) * 10817978221153490)
                logs.device_op(device, op)
        logs.fallback_op()
        logs.signpost(f"round_{round_number}")
    if traces:
        for device in logs.devices:
            logs.trace(device, 7, [11 * 10**17, 12 * 10**17, 13], replays=3)
            logs.device_op(device, logs.host_op(device, 5))
            logs.trace(device, 8, [14, 15], replays=0)
            logs.trace(device, 9, [11 * 10**17, 16], replays=2)
    logs.signpost("stop", "with: a colon\nand a second line")
    return logs
