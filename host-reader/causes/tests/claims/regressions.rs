//! Small files after public reports of users, each with the right answer worked out by hand.

use super::{explain_log, explain_ops};
use crate::model::{Blocked, CoreRun, Form, READER, Recorder, WRITER};
use causes::{Cause, Explanation, Stage, SteadyRule, TimeClass};
use reader::ledger::LossLedger;
use recording::{Recording, device_log::read_device_log};
use reports::perf::LimitKind;
use wire::{Risc, wait::WaitKind};

/// Three ops in four iterations; the last iteration has no times of the chip.
#[test]
fn the_steady_part_is_the_last_iteration_with_lengths() {
    let found = explain_ops(include_str!("inputs/last_iteration_missing.csv"));
    let steady = found.steady.clone().unwrap();
    assert_eq!(steady.rule, SteadyRule::RepeatedOps);
    assert_eq!((steady.first_row, steady.last_row, steady.op_count), (Some(8), Some(10), 3));
    let window = found.window.as_deref().unwrap();
    for part in [
        "the last iteration with the lengths of all its ops: rows 8 to 10",
        "1 later iteration is left out: the length of 3 of 3 ops is not known",
        "The 3 complete ones of 4 iterations",
    ] {
        assert!(window.contains(part), "{part}: {window}");
    }
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.reason, "3 of 12 ops have no usable duration");
    // 3 kernels of 50 us in each iteration.
    let kernels: f64 = found.groups.iter().map(|group| group.duration_ns).sum();
    assert!((kernels - 150_000.0).abs() < 1e-6, "{kernels}");
    if let Some(no_cause) = found.no_cause {
        assert!(no_cause.sentence.starts_with("No cause stands out"), "{}", no_cause.sentence);
    }
}

/// Four replays of three programs; the log ends within the last replay.
#[test]
fn a_log_that_is_cut_is_explained_up_to_the_cut() {
    let found = explain_log(include_str!("inputs/log_cut.csv"));
    let steady = found.steady.clone().unwrap();
    assert_eq!(steady.rule, SteadyRule::TraceReplay);
    assert_eq!((steady.first_launch, steady.last_launch, steady.op_count), (Some(7), Some(9), 3));
    let window = found.window.as_deref().unwrap();
    assert!(window.contains("the length of 3 of 3 ops is not known"), "{window}");
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.reason, "3 of 12 launches have no length");
    // Kernels of 50,000 cycles at 1000 MHz in each of the three launches.
    assert_eq!(found.devices[0].kernel_sum_ns, Some(150_000));
    assert!(!found.time_sums.is_empty(), "{found:?}");
    // 229,850 cycles pass between two replays, of which a launch takes 6 us; within a replay, the host sends
    // nothing.
    let host = found.findings.iter().find(|of| of.cause == Cause::Host).unwrap();
    assert_eq!(host.gain_at_most_ns.map(f64::round), Some(223_850.0));
    assert!(host.sentence.contains("in 1 gap without"), "{}", host.sentence);
    assert!(host.advice.starts_with("the ops come from a trace already"), "{}", host.advice);
    assert!(lengths.record_with.starts_with("the whole log, if its end is missing"));
}

/// The cache of K and V is 71 MB; how much of it decode reads depends on the positions.
#[test]
fn a_part_of_an_ops_bytes_is_no_finding_about_its_limit() {
    let found = explain_ops(include_str!("inputs/attention.csv"));
    let group = |op: &str| found.groups.iter().find(|group| group.op == op).unwrap();
    let decode = group("SdpaDecodeDeviceOperation");
    // Two caches of 1024 x 8 x 32 x 128 elements in tiles of 1,088 bytes, the output of 131,072
    // bytes, and 4,160 bytes of positions and pages, at 288 GB/s in 300 us.
    let caches = f64::from(1024 * 8 * 32 * 128) * 1088.0 / 1024.0 * 2.0;
    let most = (caches + 131_072.0 + 4_160.0) / 288e9 / 300e-6 * 100.0;
    assert!((decode.dram_at_most_percent.unwrap() - most).abs() < 0.01, "{decode:?}");
    assert!(most > 80.0, "{most}");
    assert_eq!((decode.limit_kind, decode.exact_limit_ns()), (LimitKind::LowerBound, None));
    // 4 tensors of 32 x 1024 x 128 elements of 2 bytes; the file's model gives 65.6 us for FLOPs.
    let prefill = group("SDPAOperation");
    let bytes = f64::from(32 * 1024 * 128 * 2 * 4);
    let limit_ns = bytes / 288e9 * 1e9;
    assert!((prefill.exact_limit_ns().unwrap() - limit_ns).abs() < 1.0, "{prefill:?}");
    assert!((prefill.dram_percent.unwrap() - limit_ns / 2e5 * 100.0).abs() < 0.01);
    // 16 x 8 x 128 elements of 2 bytes are written into the cache.
    let update = group("PagedUpdateCacheDeviceOperation");
    assert!(update.dram_percent.unwrap() < 2.0, "{update:?}");
    assert_eq!((update.bound, update.dram_at_most_percent), (None, None));
    let decode = found.findings.iter().find(|of| of.sentence.starts_with("SdpaDecode")).unwrap();
    assert!(decode.sentence.contains("its limit is not known: it uses 0 to 83 %"), "{decode:?}");
    assert!(!decode.sentence.contains("times less"), "{}", decode.sentence);
    assert_eq!(decode.gain_at_most_ns, None);
    // The cycles are 0.7 ms apart, but the rows say 1 us: other rows were removed.
    assert_eq!(found.devices[0].time.total_ns, Some(511_000));
}

/// Each id names a row of 2,048 elements in the table, which is read and written.
#[test]
fn the_limit_of_a_lookup_counts_the_rows_and_not_only_the_ids() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,AVAILABLE WORKER CORE COUNT,\
        DEVICE KERNEL DURATION [ns],INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],\
        INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],INPUT_0_DATATYPE,INPUT_0_MEMORY,\
        INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],\
        INPUT_1_X_PAD[LOGICAL],INPUT_1_DATATYPE,INPUT_1_MEMORY,OUTPUT_0_W_PAD[LOGICAL],\
        OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],OUTPUT_0_X_PAD[LOGICAL],\
        OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY";
    let row = "EmbeddingsDeviceOperation,tt_dnn_device,0,wormhole_b0,64,64,3045,\
        1,1,1,32,UINT32,DEV_0_DRAM,1,1,32000,2048,BFLOAT16,DEV_0_DRAM,1,1,32,2048,BFLOAT16,DEV_0_DRAM";
    let found = explain_ops(&format!("{titles}\n{row}\n"));
    let bytes = f64::from(32 * 4 + 2 * 32 * 2048 * 2);
    let limit = found.groups[0].limit_ns.unwrap();
    assert!((limit - bytes / 288.0).abs() < 1e-6, "{limit}");
}

/// The second kernel "takes" 6.9 s within firmware of 31 us: its start is of a launch before. The
/// titles of shapes are those of old files, and yet a column names the architecture.
#[test]
fn a_kernel_longer_than_its_firmware_has_no_length() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,DEVICE FW START CYCLE,DEVICE FW END CYCLE,\
        DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,\
        INPUT_0_DATATYPE,INPUT_0_MEMORY,INPUT_1_W,INPUT_1_Z,INPUT_1_Y,INPUT_1_X,INPUT_1_DATATYPE,\
        INPUT_1_MEMORY,OUTPUT_0_W,OUTPUT_0_Z,OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY";
    let tensor = "1,1,1024,1024,BFLOAT16,DEV_0_DRAM_INTERLEAVED";
    let row = |start: u64, kernel_ns: u64| {
        format!(
            "MatmulDeviceOperation,tt_dnn_device,0,wormhole_b0,HiFi2,64,64,{start},{},31000,\
             {kernel_ns},{tensor},{tensor},{tensor}\n",
            start + 31_000
        )
    };
    let found = explain_ops(&format!(
        "{titles}\n{}{}{}",
        row(1_000_000, 30_000),
        row(1_040_000, 6_923_932_741),
        row(1_080_000, 30_000)
    ));
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.reason, "1 of 3 ops have no usable duration");
    let [group] = found.groups.as_slice() else { panic!("{:?}", found.groups) };
    // The first run of an op that repeats is not part of the steady part.
    assert!((group.duration_ns - 30_000.0).abs() < 1e-6, "{group:?}");
    // Three tensors of 1024 x 1024 elements of 2 bytes at 288 GB/s.
    let dram = 3.0 * 1024.0 * 1024.0 * 2.0 / 288.0 / 30_000.0 * 100.0;
    assert!((group.dram_percent.unwrap() - dram).abs() < 0.01, "{group:?}");
}

/// The firmware of the second op is known, but not how much of it the kernel took. The first op is of
/// an unknown kind.
#[test]
fn firmware_around_a_kernel_of_unknown_length_is_unknown_time() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,DEVICE FW START CYCLE,\
        DEVICE FW END CYCLE,DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]";
    for kernel_ns in ["6923932741", ""] {
        let mut text = format!("{titles}\n");
        for (op, start, end, kernel_ns) in [
            ("FooDeviceOperation", 1_000_000, 1_024_400, "17477"),
            ("MatmulDeviceOperation", 1_026_300, 1_068_700, kernel_ns),
            ("SoftmaxDeviceOperation", 1_070_700, 1_096_700, "19107"),
        ] {
            let firmware_ns = end - start;
            text += &format!(
                "{op},tt_dnn_device,0,wormhole_b0,64,{start},{end},{firmware_ns},{kernel_ns}\n"
            );
        }
        // 36,584 ns of two kernels; 13,816 ns of firmware around them and 2,000 ns before the third
        // op; 42,400 ns of the second op and 1,900 ns before it, since its start is in doubt.
        let launches = "16 us of launches (firmware, and up to 6 us before each op)";
        let expected = format!("97 us = 37 us of kernels + {launches} + 44 us unknown");
        assert_eq!(explain_ops(&text).time_sums, [expected], "{kernel_ns}");
    }
}

#[test]
fn a_log_without_a_clock_says_so() {
    let rows = "0,1,2,NCRISC,1,1000,0,1024,NCRISC-KERNEL,ZONE_START\n\
                0,1,2,NCRISC,1,2000,0,1024,NCRISC-KERNEL,ZONE_END\n";
    let questions = |mhz: &str| {
        let found = explain_log(&(LOG.replace("1000", mhz) + rows));
        found.untold.into_iter().map(|of| (of.question, of.reason)).collect::<Vec<_>>()
    };
    let unknown = "how long anything took in nanoseconds";
    let said = (unknown, "the clock of 1 of 1 chips is not known".to_owned());
    assert!(questions("0").contains(&said), "{:?}", questions("0"));
    assert!(questions("1000").iter().all(|(question, _)| *question != unknown));
}

/// Two sub-devices run an op each, at the same time.
#[test]
fn ops_side_by_side_take_the_time_from_the_first_start_to_the_last_end() {
    let found = explain_ops(include_str!("inputs/side_by_side.csv"));
    let [device] = found.devices.as_slice() else { panic!("{found:?}") };
    // 135,810 cycles at 1350 MHz. Each op has kernels of 100 us within firmware of 100.6 us.
    assert_eq!((device.time.total_ns, device.kernel_sum_ns), (Some(100_600), Some(200_000)));
    let both = device.side_by_side.unwrap();
    assert_eq!((both.op_count, both.duration_ns, both.is_lower_bound), (2, 99_400, true));
    assert!((device.time.percent(TimeClass::Dispatch) - 0.6).abs() < 0.11, "{device:?}");
    let sum = &found.time_sums[0];
    assert!(sum.starts_with("101 us = 100 us of kernels + 600 ns of launches"), "{sum}");
    assert!(sum.ends_with("2 of 2 ops ran side by side, for at least 99 us, which counts once"));
    for finding in &found.findings {
        assert!(finding.gain_at_most_ns.is_none_or(|ns| ns <= 100_600.0), "{finding:?}");
    }
}

/// Kernels with own zones, without the zones of firmware and kernels.
#[test]
fn time_is_not_called_firmware_without_firmware_in_the_log() {
    let found = explain_log(include_str!("inputs/zones_without_firmware.csv"));
    let all = serde_json::to_string(&found).unwrap();
    assert!(!all.contains("firmware around") && !all.contains("(firmware"), "{all}");
    // From 1,005 to 9,005 at 1350 MHz, with 2,000 cycles between the two launches.
    assert_eq!(found.devices[0].time.total_cycles, 8_000);
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert!(lengths.reason.ends_with("the recording has no zone of a kernel"), "{lengths:?}");
    assert!(lengths.record_with.starts_with("firmware and kernels built"), "{lengths:?}");
    // The time between the zones may belong to kernels.
    assert!(found.findings.iter().all(|of| of.cause != Cause::Dispatch), "{:?}", found.findings);
    assert_eq!(found.devices[0].time.percent(TimeClass::Unknown), 100.0);
    assert!(found.time_sums.is_empty(), "no time has a name: {:?}", found.time_sums);
}

/// A wait of a RISC, which begins `start` cycles after the kernels.
fn wait(risc: Risc, kind: WaitKind, start: u64, cycles: u64) -> Blocked {
    let start = 1_000 + start;
    Blocked { risc, kind: kind.0.into(), key: 0, start, end: start + cycles, by: None }
}

/// Explains a launch of one core, from the lengths of its kernels and of the launch, and sums of its
/// waits.
fn explain_core(ends: &[(Risc, u64)], length: u64, waits: Vec<Blocked>) -> Explanation {
    let run = CoreRun {
        waits,
        starts: ends.iter().map(|(risc, _)| (*risc, 1_000)).collect(),
        ends: ends.iter().map(|(risc, cycles)| (*risc, 1_000 + cycles)).collect(),
        end: 1_000 + length,
        ..CoreRun::default()
    };
    let mut recorder = Recorder::new();
    recorder.core((1, 1), 1, &run, Form::Sums);
    Explanation::from_recording(&recorder.finish())
}

/// A reader that fetches one tile at a time: 70 % of its time it waits for its own reads. The RISC that
/// issues the arithmetic ends early, and the unpacker waits 78 % of its time for tiles.
#[test]
fn engines_that_cannot_have_been_in_use_do_not_set_the_pace() {
    let length = 4_646;
    let ends = [
        (READER, 4_500),
        (WRITER, length),
        (Risc::Trisc0, 4_600),
        (Risc::Trisc1, 349),
        (Risc::Trisc2, 4_630),
    ];
    let waits = vec![
        wait(READER, WaitKind::CB_RESERVE, 0, 900),
        wait(READER, WaitKind::NOC_READ_BARRIER, 900, 3_150),
        wait(Risc::Trisc0, WaitKind::CB_WAIT, 0, 3_588),
        wait(WRITER, WaitKind::CB_WAIT, 0, 3_200),
    ];
    let found = explain_core(&ends, length, waits);
    let pace = found.ops[0].pace.as_ref().unwrap();
    assert_eq!(pace.pacer, Stage::Reader, "{pace:#?}");
    assert!(!pace.is_math_assumed, "{pace:#?}");
    for finding in &found.findings {
        assert!(!finding.sentence.contains("engines set the pace"), "{}", finding.sentence);
    }
    assert!(found.findings[0].sentence.contains("reader"), "{:#?}", found.findings);
    assert!(found.devices[0].time.percent(TimeClass::Compute) < 50.0, "{:#?}", found.devices);
}

/// Of 5,869 cycles, the reader works all of its 5,037, the writer all of its 4,632, the packer 988 of 4,122, the
/// unpacker 930 of 5,716 and the math at most its 304. No engine can be as busy as the writer.
#[test]
fn engines_are_in_use_at_most_while_their_kernels_run_and_do_not_wait() {
    let ends = [
        (READER, 5_037),
        (WRITER, 4_632),
        (Risc::Trisc0, 5_716),
        (Risc::Trisc1, 304),
        (Risc::Trisc2, 4_122),
    ];
    let waits = vec![
        wait(READER, WaitKind::NOC_READ_BARRIER, 900, 3_663),
        wait(WRITER, WaitKind::NOC_WRITE_BARRIER, 900, 3_656),
        wait(Risc::Trisc0, WaitKind::CB_WAIT, 0, 4_786),
        wait(Risc::Trisc2, WaitKind::CB_RESERVE, 0, 3_134),
    ];
    let found = explain_core(&ends, 5_869, waits);
    let pace = found.ops[0].pace.as_ref().unwrap();
    let used = |stage| pace.stage(stage).map(|of| (of.at_least_percent, of.at_most_percent));
    let close = |used: Option<(f64, f64)>, least: f64, most: f64| {
        used.is_some_and(|(low, high)| (low - least).abs() < 0.1 && (high - most).abs() < 0.1)
    };
    // In percent of the 5,716 cycles from the first start to the last end of a kernel.
    assert!(close(used(Stage::Reader), 88.1, 88.1), "{pace:#?}");
    assert!(close(used(Stage::Writer), 81.0, 81.0), "{pace:#?}");
    assert!(close(used(Stage::Math), 0.0, 17.3), "{pace:#?}");
    let [finding, ..] = found.findings.as_slice() else { panic!("{:#?}", found.findings) };
    assert_eq!(
        finding.sentence,
        "The reader sets the pace of program 1 and spends 73 % of its time at barriers"
    );
}

const LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
";

fn log_of(rows: &[(u32, &str, u32, u64, u64, &str)]) -> String {
    let rows = rows.iter().map(|(core, risc, id, time, data, zone)| {
        format!("0,{core},2,{risc},{id},{time},{data},1024,{zone}\n")
    });
    LOG.to_owned() + &rows.collect::<String>()
}

/// 860 of 1,000 cycles of the kernel are in one zone, within a zone around all of it.
#[test]
fn a_zone_that_is_most_of_a_kernel_is_named() {
    let log = log_of(&[
        (1, "NCRISC", 1, 1_000, 0, "NCRISC-KERNEL,ZONE_START"),
        (1, "NCRISC", 2, 1_000, 0, "MAIN,ZONE_START"),
        (1, "NCRISC", 3, 1_100, 0, "DRAM-READ,ZONE_START"),
        (1, "NCRISC", 3, 1_960, 0, "DRAM-READ,ZONE_END"),
        (1, "NCRISC", 2, 2_000, 0, "MAIN,ZONE_END"),
        (1, "NCRISC", 1, 2_000, 0, "NCRISC-KERNEL,ZONE_END"),
    ]);
    let found = explain_log(&log);
    let [finding] = found.findings.as_slice() else { panic!("{:#?}", found.findings) };
    assert_eq!(finding.cause, Cause::KernelZone);
    assert_eq!(
        finding.sentence,
        "DRAM-READ is 86 % of the time of NCRISC in program 1, on 1 of 1 cores"
    );
    assert_eq!(finding.rests_on.to_string(), "1 of 1 launches");
    // A sum says the same, and is one record.
    let log = log_of(&[
        (1, "NCRISC", 1, 1_000, 0, "NCRISC-KERNEL,ZONE_START"),
        (1, "NCRISC", 4, 1_990, 700, "WAIT_IN,ZONE_TOTAL"),
        (1, "NCRISC", 1, 2_000, 0, "NCRISC-KERNEL,ZONE_END"),
    ]);
    let found = explain_log(&log);
    assert!(found.findings[0].sentence.starts_with("WAIT_IN is 70 %"), "{:#?}", found.findings);
}

/// Two cores gather for 300 and 900 of 1,000 cycles, and their compute kernels wait for data meanwhile: all end
/// together.
#[test]
fn a_zone_names_its_longest_core_and_who_waits() {
    let rows: Vec<_> = [(1, 300), (2, 900)]
        .into_iter()
        .flat_map(|(core, gather)| {
            [
                (core, "NCRISC", 1, 1_000, 0, "NCRISC-KERNEL,ZONE_START"),
                (core, "NCRISC", 3, 1_010, 0, "GATHER,ZONE_START"),
                (core, "NCRISC", 3, 1_010 + gather, 0, "GATHER,ZONE_END"),
                (core, "NCRISC", 5, 1_950, 0, "SEND,ZONE_START"),
                (core, "NCRISC", 5, 1_960, 0, "SEND,ZONE_END"),
                (core, "NCRISC", 1, 2_000, 0, "NCRISC-KERNEL,ZONE_END"),
                (core, "TRISC_0", 1, 1_000, 0, "TRISC-KERNEL,ZONE_START"),
                (core, "TRISC_0", 4, 1_990, 700, "CB-COMPUTE-WAIT-FRONT,ZONE_TOTAL"),
                (core, "TRISC_0", 1, 2_000, 0, "TRISC-KERNEL,ZONE_END"),
            ]
        })
        .collect();
    let found = explain_log(&log_of(&rows));
    let zone = found.findings.iter().find(|of| of.cause == Cause::KernelZone).unwrap();
    // What others wait for comes before the wait, though this is longer, and a sum.
    assert!(zone.sentence.starts_with("GATHER is 60 % of the time of NCRISC"), "{zone:#?}");
    assert_eq!(zone.why[1], "TRISC_0 waits for data 70 % of its time, in CB-COMPUTE-WAIT-FRONT");
    let only_waits: Vec<_> = rows.iter().copied().filter(|row| row.2 != 3).collect();
    let found = explain_log(&log_of(&only_waits));
    let zone = found.findings.iter().find(|of| of.cause == Cause::KernelZone).unwrap();
    assert!(zone.sentence.starts_with("CB-COMPUTE-WAIT-FRONT is a wait and 70 %"), "{zone:#?}");
    assert_eq!(zone.why, [""; 0]);
    let without_sum: Vec<_> = rows.iter().copied().filter(|row| row.2 != 4).collect();
    let waits = [
        (1, "TRISC_0", 4, 1_010, 0, "CB-COMPUTE-WAIT-FRONT,ZONE_START"),
        (1, "TRISC_0", 4, 1_560, 0, "CB-COMPUTE-WAIT-FRONT,ZONE_END"),
        (2, "TRISC_0", 4, 1_010, 0, "CB-COMPUTE-WAIT-FRONT,ZONE_START"),
        (2, "TRISC_0", 4, 1_560, 0, "CB-COMPUTE-WAIT-FRONT,ZONE_END"),
    ];
    let rows = [without_sum, waits.to_vec()].concat();
    let found = explain_log(&log_of(&rows));
    let zone = found.findings.iter().find(|of| of.cause == Cause::KernelZone).unwrap();
    assert!(zone.sentence.starts_with("GATHER is 60 % of the time of NCRISC"), "{zone:#?}");
    assert_eq!(
        zone.why,
        [
            "its cores are in it for 300 ns to 900 ns, 600 ns in the mean; longest on core (2,2)",
            "TRISC_0 waits for data 55 % of its time, in CB-COMPUTE-WAIT-FRONT"
        ]
    );
}

/// A benchmark of single functions has zones, and none of kernels or firmware.
#[test]
fn zones_of_launches_without_kernels_are_told() {
    let log = log_of(&[
        (1, "TRISC_0", 3, 1_000, 0, "TILE_LOOP,ZONE_START"),
        (1, "TRISC_0", 3, 1_860, 0, "TILE_LOOP,ZONE_END"),
        (1, "TRISC_2", 4, 1_000, 0, "INIT,ZONE_START"),
        (1, "TRISC_2", 4, 1_020, 0, "INIT,ZONE_END"),
        (1, "TRISC_2", 3, 1_100, 0, "TILE_LOOP,ZONE_START"),
        (1, "TRISC_2", 3, 2_000, 0, "TILE_LOOP,ZONE_END"),
    ]);
    let expected = "Zones of launch 1 of program 1, which has none of kernels, each without the zones within \
                    it: TILE_LOOP of TRISC_2 900 ns on 1 \
                    core, TILE_LOOP of TRISC_0 860 ns on 1 core, INIT of TRISC_2 20 ns on 1 core.";
    assert_eq!(explain_log(&log).kernels.as_deref(), Some(expected));
}

/// A run of 125 zones is as long as a buffer of TT-Metal's profiler; one of 124 is not, and one of 126 shows
/// that the firmware sends full buffers on.
#[test]
fn a_log_whose_runs_fill_a_buffer_says_so() {
    let told = |count: u64| {
        let zones = (0..count).flat_map(|zone| {
            let start = 1_010 + zone * 10;
            [
                (1, "NCRISC", 3, start, 0, "READ,ZONE_START"),
                (1, "NCRISC", 3, start + 8, 0, "READ,ZONE_END"),
            ]
        });
        let mut rows = vec![(1, "NCRISC", 1, 1_000, 0, "NCRISC-KERNEL,ZONE_START")];
        rows.extend(zones);
        rows.push((1, "NCRISC", 1, 5_000, 0, "NCRISC-KERNEL,ZONE_END"));
        let not_used = explain_log(&log_of(&rows)).not_used;
        not_used.iter().any(|of| of.starts_with("NCRISC has 125 zones in 1 of 1 run, as many as"))
    };
    assert_eq!([124, 125, 126].map(told), [false, true, false]);
}

/// A kernel that hangs: of a log with unknown losses, the end may be missing; if nothing was lost, the kernel
/// had not ended, and fewer zones would not help.
#[test]
fn a_kernel_that_hangs_is_told_from_one_whose_end_was_lost() {
    let log = log_of(&[
        (1, "BRISC", 1, 1_000, 0, "BRISC-KERNEL,ZONE_START"),
        (1, "BRISC", 2, 1_100, 0, "STUCK,ZONE_START"),
    ]);
    let lengths = |is_known| {
        let mut recording =
            Recording::from_readout(read_device_log(log.as_bytes(), "log").unwrap());
        if is_known {
            recording.readout.losses = LossLedger::default();
        }
        let found = Explanation::from_recording(&recording);
        let lengths = found.untold.iter().find(|of| of.question == "how long every op took");
        let lengths = lengths.unwrap().clone();
        let stands = "BRISC in STUCK on 1 core.";
        let told = match is_known {
            true => format!("Launch 1 of program 1 had not ended: {stands}"),
            false => format!(
                "Launch 1 of program 1 has no end in this recording, because it had not ended or the end is \
                 missing; last known: {stands}"
            ),
        };
        assert_eq!(found.kernels, Some(told));
        assert_eq!(found.no_cause.unwrap().record_next, lengths.record_with);
        (lengths.reason, lengths.record_with)
    };
    let (reason, record_with) = lengths(false);
    assert_eq!(reason, "1 of 1 launches have no length");
    assert!(record_with.starts_with("the whole log, if its end is missing"), "{record_with}");
    let (reason, record_with) = lengths(true);
    assert_eq!(
        reason,
        "1 of 1 launches have no length: their kernels began and had not ended, and nothing was lost"
    );
    assert!(record_with.starts_with("a run in which the kernels end"), "{record_with}");
}

/// The log has the name of a wait, as of kernels that are built to record waits, but no wait. More of
/// these records would show nothing.
#[test]
fn nobody_is_sent_to_records_that_are_on() {
    let of = |zone: &str, data: &str| {
        let log = log_of(&[
            (1, "NCRISC", 1, 1_000, 0, "NCRISC-KERNEL,ZONE_START"),
            (1, "NCRISC", 3, 1_100, 0, &format!("{zone},ZONE_START")),
            (1, "NCRISC", 3, 1_150, 0, &format!("{zone},ZONE_END")),
            (1, "NCRISC", 9090, 1_500, 5, data),
            (1, "NCRISC", 1, 2_000, 0, "NCRISC-KERNEL,ZONE_END"),
        ]);
        let found = explain_log(&log);
        let untold = found.untold.into_iter().find(|of| of.question.starts_with("which stage"));
        (untold.unwrap(), found.no_cause.unwrap().record_next)
    };
    let (waits, _) = of("LOOP", "SOMETHING,TS_DATA");
    assert_eq!(
        waits.record_with,
        "a capture of kernels that record waits (docs/explain.md), also those of loops that poll \
         by themselves: DeviceWait in C++, device_wait! in Rust (docs/kernels.md)"
    );
    let (waits, next) = of("LOOP", "SYNC-WAIT-TOTAL,TS_EVENT");
    assert_eq!(
        waits.record_with,
        "the loops of the kernels that poll, with DeviceWait in C++ or device_wait! in Rust, and \
         zones inside the longest zones (docs/kernels.md)"
    );
    assert!(!next.contains("record waits"), "{next}");
    let (waits, _) = of("NCRISC-KERNEL", "SYNC-WAIT-TOTAL,TS_EVENT");
    assert_eq!(
        waits.record_with,
        "the loops of the kernels that poll, with DeviceWait in C++ or device_wait! in Rust, and \
         zones around the others (docs/kernels.md)"
    );
}

/// A gradient has no model: it reads at least as much of DRAM as its output has, and writes that.
/// 2 times 268 MB at 288 GB/s take 1.86 ms, which is 29 % of 6.32 ms.
#[test]
fn an_op_without_a_limit_says_what_is_known_of_it() {
    const TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],DEVICE BRISC KERNEL DURATION [ns],\
        DEVICE NCRISC KERNEL DURATION [ns],DEVICE TRISC1 KERNEL DURATION [ns],INPUT_0_W_PAD[LOGICAL],\
        INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],INPUT_0_LAYOUT,\
        INPUT_0_DATATYPE,INPUT_0_MEMORY,OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],\
        OUTPUT_0_Y_PAD[LOGICAL],OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_LAYOUT,OUTPUT_0_DATATYPE,\
        OUTPUT_0_MEMORY\n";
    const TENSOR: &str = "1[1],1[1],65536[65536],2048[2048],TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED";
    let of = |riscs: &str| {
        explain_ops(&format!(
            "{TITLES}SoftmaxBackwardDeviceOperation,tt_dnn_device,1024,0,wormhole_b0,64,64,6323154,\
             {riscs},{TENSOR},{TENSOR}\n"
        ))
    };
    let found = of("6322801,4744978,5610666");
    let group = found.groups.first().unwrap();
    assert_eq!((group.limit_kind, group.exact_limit_ns()), (LimitKind::LowerBound, None));
    let share = group.dram_percent.unwrap();
    assert!((share - 29.48).abs() < 0.1, "{group:?}");
    let finding = found.findings.iter().find(|of| of.cause == Cause::OpGroup).unwrap();
    assert!(finding.sentence.contains("its limit is not known"), "{}", finding.sentence);
    let why = "BRISC runs longest, 6.3 ms; TRISC_1 5.6 ms, NCRISC 4.7 ms";
    assert!(finding.why.iter().any(|fact| fact == why), "{:?}", finding.why);
    let found = of(",,");
    let finding = found.findings.iter().find(|of| of.cause == Cause::OpGroup).unwrap();
    assert!(!finding.why.iter().any(|fact| fact.contains("longest")), "{:?}", finding.why);
}

/// NCRISC takes 1,000 cycles in each of two launches, BRISC 100 and then 300, and TRISC 1 never.
#[test]
fn the_risc_that_outlasts_all_others_is_a_cause() {
    let launch = |from: u64, brisc: u64| {
        [
            (1, "BRISC", 2, from - 100, 0, "BRISC-FW,ZONE_START"),
            (1, "BRISC", 1, from, 0, "BRISC-KERNEL,ZONE_START"),
            (1, "BRISC", 1, from + brisc, 0, "BRISC-KERNEL,ZONE_END"),
            (1, "BRISC", 2, from + brisc + 50, 0, "BRISC-FW,ZONE_END"),
            (1, "NCRISC", 2, from - 100, 0, "NCRISC-FW,ZONE_START"),
            (1, "NCRISC", 1, from, 0, "NCRISC-KERNEL,ZONE_START"),
            (1, "NCRISC", 1, from + 1_000, 0, "NCRISC-KERNEL,ZONE_END"),
            (1, "NCRISC", 2, from + 1_050, 0, "NCRISC-FW,ZONE_END"),
        ]
    };
    let of = |first: u64, second: u64| {
        let rows = [launch(1_000, first), launch(3_000, second)].concat();
        explain_log(&log_of(&rows))
    };
    let found = of(100, 300);
    let longest = found.findings.iter().find(|of| of.cause == Cause::LongestRisc).unwrap();
    assert!((longest.figure - 5.0).abs() < 1e-9, "{longest:?}");
    assert!((longest.gain_at_most_ns.unwrap() - 1_600.0).abs() < 1e-9, "{longest:?}");
    assert!(longest.sentence.starts_with("NCRISC sets the length of"), "{}", longest.sentence);
    assert!(longest.sentence.contains("5.0 times those of the next longest (BRISC)"));
    let even = of(1_000, 1_000);
    assert!(!even.findings.iter().any(|of| of.cause == Cause::LongestRisc), "{even:?}");
}

/// The second core starts 470 cycles after the first; the op takes 1,000.
#[test]
fn cores_that_start_late_are_a_cause() {
    let rows: Vec<_> = [(1, 1_000), (2, 1_470)]
        .into_iter()
        .flat_map(|(core, start)| {
            [
                (core, "BRISC", 1, start, 0, "BRISC-KERNEL,ZONE_START"),
                (core, "BRISC", 1, 2_000, 0, "BRISC-KERNEL,ZONE_END"),
            ]
        })
        .collect();
    let found = explain_log(&log_of(&rows));
    let skew = found.findings.iter().find(|of| of.cause == Cause::StartSkew).unwrap();
    assert!((skew.figure - 47.0).abs() < 1e-9, "{skew:?}");
    assert!((skew.gain_at_most_ns.unwrap() - 470.0).abs() < 1e-9, "{skew:?}");
    assert!(skew.sentence.contains("47 % of the kernels' time"), "{}", skew.sentence);
}

/// The fourth row begins 6.9 s before the third one "ends", since the end of the third one is wrong.
#[test]
fn a_wrong_end_of_an_op_does_not_take_the_next_op_with_it() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,OP TO OP LATENCY [ns],\
        DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]";
    let found = explain_ops(&format!(
        "{titles}\n\
         LayerNorm,tt_dnn_device,0,blackhole,64,0,18000,17000\n\
         Concat,tt_dnn_device,0,blackhole,64,1400,18000,17000\n\
         Matmul,tt_dnn_device,0,blackhole,64,1400,31407,6923932741\n\
         SdpaDecode,tt_dnn_device,0,blackhole,64,-6924428000,19300,19000\n"
    ));
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.reason, "1 of 4 ops have no usable duration");
    assert!(lengths.record_with.starts_with("the device log or capture"), "{lengths:?}");
    let kernels: f64 = found.groups.iter().map(|group| group.duration_ns).sum();
    assert!((kernels - 53_000.0).abs() < 1e-6, "{kernels}");
    let gaps = found.untold.iter().find(|of| of.question.starts_with("how long the chip waited"));
    assert_eq!(gaps.unwrap().reason, "the gap before 1 of 4 ops is not known");
    let row = "line 4, column DEVICE KERNEL DURATION [ns]: expected a kernel within its firmware, which \
        takes 31407 ns, found 6923932741 ns; the op is in no sum";
    assert!(found.not_used.contains(&row.to_owned()), "{:?}", found.not_used);
}

/// A table of the streaming profiler has no latencies, but the cycles of kernels: at 1.35 cycles in
/// a nanosecond, 13,000 cycles between two ops are 9,630 ns.
#[test]
fn gaps_of_a_streamed_table_come_from_the_cycles_of_kernels() {
    let mut text = "DEVICE ID,GLOBAL CALL COUNT,EXECUTION,CORE COUNT,DEVICE KERNEL START CYCLE,\
        DEVICE KERNEL END CYCLE,DEVICE KERNEL DURATION [ns]\n"
        .to_owned();
    for number in 0..6_u64 {
        let (program, start) = (1024 * (1 + number % 2), 100_000 + number * 40_000);
        text += &format!("0,{program},{},64,{start},{},20000\n", number / 2, start + 27_000);
    }
    let found = explain_ops(&text);
    // Two ops of 20,000 ns in the last iteration, and the gap before each.
    assert_eq!(found.devices[0].time.total_ns, Some(59_260));
    let host_ns = found.devices[0].time.class_ns(TimeClass::HostLate).unwrap();
    assert!((host_ns - 7_260.0).abs() < 1.0, "{host_ns}");
    let window = found.window.unwrap();
    // Six ops and five gaps of 9,630 ns: 168,150 ns, of which 5 x 3,630 ns are the host's.
    assert!(window.starts_with("10.8 % of 168 us the chip waited for the host."), "{window}");
    assert!(
        window.contains(
            "59 us, with the gap of 9.6 us before it, as before 1 other (median 9.6 us)) it waits 12.3 %"
        ),
        "{window}"
    );
    // No column says which chip it is.
    let guess = found.not_used.last().unwrap();
    assert!(guess.contains("a guess (blackhole, by its clock of 1.35 GHz)"), "{guess}");
}

/// Five columns: of each op, two RISCs are known, and neither lasts as long as the op.
#[test]
fn a_risc_is_the_longest_only_of_those_that_are_known() {
    let text = "OP TYPE,OP CODE,DEVICE KERNEL DURATION [ns],DEVICE BRISC KERNEL DURATION [ns],\
        DEVICE NCRISC KERNEL DURATION [ns]\ntt_dnn_device,Foo,1200,1100,900\ntt_dnn_device,Bar,4000,\
        3990,2000\n";
    let found = explain_ops(text);
    let why = |op: &str| {
        let finding = found.findings.iter().find(|of| of.sentence.starts_with(op)).unwrap();
        finding.why.first().unwrap().as_str()
    };
    assert!(why("Foo").starts_with("of the RISCs whose times are known, BRISC runs longest"));
    assert!(why("Bar").starts_with("BRISC runs longest, 4.0 us; NCRISC 2.0 us"), "{}", why("Bar"));
    assert_eq!(found.time_sums, ["5.2 us of kernels; the gaps between ops are unknown"]);
}

/// Six launches of one op; the first one is no part of the steady part, and the gap after it is as the others.
#[test]
fn the_gap_before_the_steady_part_counts_as_the_others() {
    let mut text = "ARCH: blackhole, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor \
        type,timer_id,time[cycles since reset],data,run host ID,zone name,type\n"
        .to_owned();
    for launch in 0..6_u64 {
        let start = 1_000_000 + launch * 100_000;
        for (risc, id) in [("BRISC", 1), ("NCRISC", 3)] {
            for (kind, at) in [("ZONE_START", start), ("ZONE_END", start + 30_000)] {
                text += &format!("0,1,2,{risc},{id},{at},0,1024,{risc}-FW,{kind}\n");
            }
            for (kind, at) in [("ZONE_START", start + 100), ("ZONE_END", start + 29_000)] {
                text += &format!("0,1,2,{risc},{},{at},0,1024,{risc}-KERNEL,{kind}\n", id + 1);
            }
        }
    }
    let found = explain_log(&text);
    let host = found.findings.iter().find(|of| of.cause == Cause::Host).unwrap();
    // Five launches have five gaps of 70 us before their firmware, of which a launch takes 6 us.
    let gaps = "in 5 gaps, each without the 6 us of a launch, median 64 us (longest 64 us";
    assert!(host.sentence.contains(gaps), "{}", host.sentence);
    assert_eq!(host.gain_at_most_ns.map(f64::round), Some(320_000.0), "5 times 64 us");
    let window = found.window.unwrap();
    let before = "with the gap of 70 us before it, as before 4 others (median 70 us)";
    assert!(window.contains(before), "{window}");
}

/// An all-gather of 80 us lies within a matmul of 120 us: without it, nothing would be faster.
#[test]
fn a_collective_beside_another_op_costs_only_what_it_takes_alone() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,DEVICE FW START CYCLE,\
        DEVICE FW END CYCLE,DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]";
    let explained = |start: u64| {
        let end = start + 80_600;
        explain_ops(&format!(
            "{titles}\n\
             Matmul,tt_dnn_device,0,wormhole_b0,48,1000000,1120600,120600,120000\n\
             AllGather,tt_dnn_device,0,wormhole_b0,8,{start},{end},80600,80000\n"
        ))
    };
    let collectives = |found: &Explanation| {
        let of = found.findings.iter().find(|of| of.cause == Cause::Collective);
        of.map(|of| (of.sentence.clone(), of.gain_at_most_ns.unwrap()))
    };
    assert_eq!(collectives(&explained(1_010_000)), None);
    // It begins 80 us after the matmul, and runs 40 us longer.
    let (sentence, gain_ns) = collectives(&explained(1_080_000)).unwrap();
    assert!(sentence.starts_with("Collectives take 24.9 % of 161 us, in which no other op runs"));
    assert!((gain_ns - 40_000.0).abs() < 1.0, "{gain_ns}");
}

/// Two replays of two ops, and an op that was captured into another trace and never ran.
#[test]
fn an_op_that_was_only_captured_hides_no_iteration() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,METAL TRACE ID,\
        METAL TRACE REPLAY SESSION ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]";
    let replays = (1..=3).map(|replay| {
        format!(
            "Matmul,tt_dnn_device,0,wormhole_b0,64,1,{replay},50000,20000\n\
             Softmax,tt_dnn_device,0,wormhole_b0,64,1,{replay},40000,10000\n"
        )
    });
    let replays: String = replays.collect();
    let captured = "Typecast,tt_dnn_device,0,wormhole_b0,64,2,,,\n";
    let [with, without] = [format!("{replays}{captured}"), replays]
        .map(|rows| explain_ops(&format!("{titles}\n{rows}")));
    assert_eq!(with.steady, without.steady);
    assert_eq!(with.steady.as_ref().unwrap().rule, SteadyRule::TraceReplay);
    assert_eq!((&with.findings, &with.untold), (&without.findings, &without.untold));
    assert_eq!(with.unreplayed_traces.len(), 1);
    let host = with.findings.iter().find(|of| of.cause == Cause::Host).unwrap();
    assert!(host.advice.starts_with("the ops come from a trace already"), "{}", host.advice);
}

/// Chip 1 takes 600 us for a matmul that chip 0 does in 200 us.
#[test]
fn a_gain_is_at_most_that_of_the_chip_that_gains_most() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,MATH FIDELITY,\
        DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,INPUT_0_DATATYPE,\
        INPUT_0_MEMORY,INPUT_1_W,INPUT_1_Z,INPUT_1_Y,INPUT_1_X,INPUT_1_DATATYPE,INPUT_1_MEMORY,\
        OUTPUT_0_W,OUTPUT_0_Z,OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY";
    let tensor = "1,1,2048,2048,BFLOAT16,DEV_0_DRAM_INTERLEAVED";
    let row = |chip: u32, ns: u32| {
        format!(
            "Matmul,tt_dnn_device,{chip},wormhole_b0,64,HiFi3,{ns},{tensor},{tensor},{tensor}\n"
        )
    };
    let found = explain_ops(&format!("{titles}\n{}{}", row(0, 200_000), row(1, 600_000)));
    let limit_ns = found.groups[0].exact_limit_ns().unwrap() / 2.0;
    let finding = found.findings.iter().find(|of| of.cause == Cause::OpGroup).unwrap();
    let gain_ns = finding.gain_at_most_ns.unwrap();
    assert!((gain_ns - (600_000.0 - limit_ns)).abs() < 1e-6, "{gain_ns} {limit_ns}");
}

/// Of four ops, one has a duration: the chip's time is not that of all of them.
#[test]
fn a_share_of_a_part_of_the_ops_says_so() {
    let mut text =
        "OP CODE,OP TYPE,DEVICE ID,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]\n".to_owned();
    for ns in ["50000", "", "50000", "", "50000", ""] {
        text += &format!("{},tt_dnn_device,0,900,{ns}\n", if ns.is_empty() { "B" } else { "A" });
    }
    let window = explain_ops(&text).window.unwrap();
    assert!(
        window.contains("waited for the host, as far as they are known: 3 of 6 ops have no length"),
        "{window}"
    );
}

/// The only RISC of the log is of no known kind, so each of its lines is left out.
#[test]
fn a_log_whose_lines_are_left_out_is_not_called_empty() {
    let found = explain_log(
        "ARCH: quasar, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor type,timer_id,\
         time[cycles since reset],data,run host ID,zone name,type\n\
         0,1,2,DM0,1,1000,0,1024,DM0-KERNEL,ZONE_START\n0,1,2,DM0,1,6000,0,1024,DM0-KERNEL,ZONE_END\n",
    );
    let no_cause = found.no_cause.unwrap();
    assert_eq!(no_cause.sentence, "No record could be used, so there is nothing to explain");
    assert!(found.not_used[0].contains("RISC `DM0`: 2 lines left out"), "{:?}", found.not_used);
}

/// Kernels that pass on data between chips begin before all ops and never end, or end after them.
#[test]
fn kernels_on_ethernet_cores_alone_are_beside_the_ops_and_not_their_time() {
    let op = |from: u64| {
        [
            (1, "BRISC", 1, from, 0, "BRISC-FW,ZONE_START"),
            (1, "BRISC", 2, from + 300, 0, "BRISC-KERNEL,ZONE_START"),
            (1, "BRISC", 2, from + 10_300, 0, "BRISC-KERNEL,ZONE_END"),
            (1, "BRISC", 1, from + 10_600, 0, "BRISC-FW,ZONE_END"),
        ]
    };
    let ops = log_of(&[op(1_000_000), op(1_020_000)].concat());
    let router = |rows: &[(u64, &str)]| {
        let rows = rows.iter().map(|(time, zone)| format!("0,9,0,ERISC,9,{time},0,0,{zone}\n"));
        rows.collect::<String>()
    };
    let began = [(1_000, "ERISC-FW,ZONE_START"), (1_200, "ERISC-KERNEL,ZONE_START")];
    let ended = [(2_000_000, "ERISC-KERNEL,ZONE_END"), (2_000_100, "ERISC-FW,ZONE_END")];
    let alone = explain_log(&ops);
    assert_eq!(alone.devices[0].window, (1_000_000, 1_030_600));
    for rows in [began.to_vec(), [began, ended].concat()] {
        let found = explain_log(&(ops.clone() + &router(&rows)));
        assert_eq!(found.devices, alone.devices);
        assert_eq!(found.findings, alone.findings);
        let [sentence] = found.not_used.as_slice() else { panic!("{:?}", found.not_used) };
        assert!(sentence.starts_with("chip 0: 1 launch on Ethernet cores alone"), "{sentence}");
    }
    // Without other launches, they are the ops; and so they are if they run before or after those.
    assert_eq!(explain_log(&log_of(&[])).devices.len(), 0);
    let own = explain_log(&(LOG.to_owned() + &router(&[began, ended].concat())));
    assert_eq!((own.ops.len(), own.not_used.len()), (1, 0), "{:?}", own.not_used);
    let before = [(1_000, "ERISC-KERNEL,ZONE_START"), (9_000, "ERISC-KERNEL,ZONE_END")];
    let before = explain_log(&(ops + &router(&before)));
    assert_eq!((before.ops.len(), before.not_used.len()), (3, 0), "{:?}", before.not_used);
}

/// The firmware of the last launch has no end, and its kernel has one: the gap before it is known.
#[test]
fn the_gap_before_a_launch_without_an_end_counts_and_its_sentence_counts_what_it_adds_up() {
    let launch = |from: u64| {
        [
            (1, "BRISC", 1, from, 0, "BRISC-FW,ZONE_START"),
            (1, "BRISC", 2, from + 100, 0, "BRISC-KERNEL,ZONE_START"),
            (1, "BRISC", 2, from + 10_100, 0, "BRISC-KERNEL,ZONE_END"),
            (1, "BRISC", 1, from + 10_200, 0, "BRISC-FW,ZONE_END"),
        ]
    };
    // Gaps of 100,000, 100,000 and 200,000 cycles at 1 GHz, of which 6 us are those of a launch.
    let launches = [0, 110_200, 220_400, 430_600].map(launch).concat();
    let found = explain_log(&log_of(&launches[..15]));
    let host = found.findings.iter().find(|of| of.cause == Cause::Host).unwrap();
    assert!(host.sentence.contains("in 3 gaps"), "{}", host.sentence);
    let late_ns = found.devices[0].time.class_ns(TimeClass::HostLate).unwrap();
    assert!((late_ns - 382_000.0).abs() < 1.0, "{late_ns}");
}

/// Columns of cores and of waits at buffers: the sum over 64 cores of 100 us each is 6.4 ms.
#[test]
fn columns_of_cores_and_waits_are_reasons() {
    let csv = |cores: &str, waits: &str| {
        format!(
            "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,CORE COUNT,AVAILABLE WORKER CORE COUNT,\
             DEVICE KERNEL DURATION [ns],DEVICE KERNEL DURATION PER CORE MIN [ns],\
             DEVICE KERNEL DURATION PER CORE AVG [ns],DEVICE KERNEL DURATION PER CORE MAX [ns],\
             DEVICE COMPUTE CB WAIT FRONT [ns],DEVICE COMPUTE CB RESERVE BACK [ns]\n\
             Custom,tt_dnn_device,1,0,64,64,100000,{cores},{waits}\n"
        )
    };
    let why = |cores: &str, waits: &str| {
        let found = explain_ops(&csv(cores, waits));
        let group = found.findings.iter().find(|of| of.cause == Cause::OpGroup);
        group.map(|of| of.why.clone()).unwrap_or_default()
    };
    let uneven = "its cores take 40 us to 100 us, 55 us in the mean";
    let unpacker = "the unpacker waits for data 60 % of the time, in the mean of its cores";
    let packer = "the packer waits for room 25 % of the time, in the mean of its cores";
    assert_eq!(why("40000,55000,100000", ","), [uneven]);
    assert_eq!(why("98000,99000,100000", "3840000,1600000"), [unpacker, packer]);
    // Sums of one core, a mean above the longest core, and more than all cores have: no reasons.
    assert_eq!(why("98000,99000,100000", "60000,6400001"), [""; 0]);
    assert_eq!(why("40000,155000,100000", "-1,"), [""; 0]);
}

/// TRISC 0 waits 600 of 1,000 cycles for circular buffer 3, and no other RISC records waits.
#[test]
fn a_risc_that_is_blocked_most_of_the_time_is_named_without_a_pace() {
    let log = |waited: u64| {
        log_of(&[
            (1, "TRISC_0", 1, 1_000, 0, "TRISC-KERNEL,ZONE_START"),
            (1, "TRISC_0", 2, 1_100, 0, "SYNC-CB-WAIT,ZONE_START"),
            (1, "TRISC_0", 3, 1_101, 3, "SYNC-CB-WAIT-KEY,TS_DATA"),
            (1, "TRISC_0", 2, 1_100 + waited, 0, "SYNC-CB-WAIT,ZONE_END"),
            (1, "TRISC_0", 1, 2_000, 0, "TRISC-KERNEL,ZONE_END"),
        ])
    };
    let blocked = |waited| {
        let found = explain_log(&log(waited));
        found.findings.into_iter().find(|of| of.threshold == "blocked-risc")
    };
    let finding = blocked(600).unwrap();
    assert_eq!(finding.cause, Cause::Wait);
    let sentence = "TRISC_0 is blocked 60 % of its kernels' time in program 1, on 1 core";
    assert_eq!(finding.sentence, sentence);
    assert_eq!(finding.why, ["data in circular buffer 3: 60 % of the time, in 1 wait"]);
    assert_eq!(blocked(490), None);
}

/// Two shapes of one op: together they are within twice their limit, and the one on a single core takes
/// seven times its own.
#[test]
fn an_op_of_one_shape_is_not_hidden_by_others_of_its_code() {
    let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT,\
                  AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,\
                  INPUT_0_Y,INPUT_0_X,INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY,OUTPUT_0_W,OUTPUT_0_Z,\
                  OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_LAYOUT,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";
    let row = |call: u32, cores: u32, ns: u32, sides: &str| {
        let tensor = format!("1,1,{sides},TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED");
        format!("Unary,tt_dnn_device,{call},0,wormhole_b0,{cores},64,{ns},{tensor},{tensor}\n")
    };
    // 2 x 8 MB at 288 GB/s take 58 us, and 2 x 262 kB take 1.8 us.
    let of = |small_ns: u32| {
        let rows = [row(1, 64, 80_000, "2048,2048"), row(2, 1, small_ns, "32,4096")];
        explain_ops(&(titles.to_owned() + &rows.concat()))
    };
    let found = of(13_000);
    let group = &found.groups[0];
    assert_eq!((group.least_core_count, group.most_core_count), (Some(1), Some(64)));
    let told: Vec<_> = found.findings.iter().filter(|of| of.cause == Cause::OpGroup).collect();
    let [whole, finding] = told.as_slice() else { panic!("{:#?}", found.findings) };
    assert!(whole.sentence.starts_with("Unary takes 100.0 % of the kernels' time (2 ops, 93 us)"));
    assert!(
        finding
            .sentence
            .starts_with("Unary takes 14.0 % of the kernels' time (1 of its 2 ops, 13 us)"),
        "{}",
        finding.sentence
    );
    assert_eq!((finding.place.row, finding.rests_on.to_string().as_str()), (Some(3), "1 of 2 ops"));
    assert_eq!(finding.why, ["it runs on 1 of 64 cores"]);
    assert_eq!((whole.part_of, finding.part_of), (None, Some(1)));
    // A tenth of the kernels' time is worth a sentence, and less is not.
    let groups = of(8_000).findings.into_iter().filter(|of| of.cause == Cause::OpGroup);
    assert_eq!(groups.map(|of| of.rests_on.count).collect::<Vec<_>>(), [2]);
}

/// Cells of a spreadsheet with decimal commas: 50 kernels were recorded, and none can be read.
#[test]
fn durations_that_are_no_numbers_are_not_missing() {
    let csv = |cells: [&str; 2]| {
        let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE FW START CYCLE,\
                      DEVICE KERNEL DURATION [ns]\n";
        let row = |(call, cell): (usize, &str)| {
            format!("Custom,tt_dnn_device,{call},0,{call}000,\"{cell}\"\n")
        };
        titles.to_owned() + &cells.into_iter().enumerate().map(row).collect::<String>()
    };
    let found = explain_ops(&csv(["13000,0", "14000,5"]));
    let no_cause = found.no_cause.unwrap();
    assert_eq!(
        no_cause.sentence,
        "No op has a known duration: DEVICE KERNEL DURATION [ns] is no number in all 2 rows of ops"
    );
    assert!(
        no_cause.record_next.starts_with("nothing again: use the file as the profiler wrote it")
    );
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.record_with, no_cause.record_next);
    let blank = explain_ops(&csv(["", ""])).no_cause.unwrap();
    assert!(blank.sentence.contains("has no usable value in 2 of 2 rows"), "{}", blank.sentence);
}

/// What is said of rows without kernel durations does not deny a time that they have, whichever columns
/// the file has and under which title the durations are (tt-metal issue 6729 has those of firmware alone).
#[test]
fn the_times_that_a_file_has_are_told_where_kernel_durations_are_missing() {
    let told = |columns: &[(&str, &str)]| {
        let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
        let cells: Vec<&str> = columns.iter().map(|(_, cell)| *cell).collect();
        let mut csv = format!("OP CODE,OP TYPE,DEVICE ID,{}\n", titles.join(","));
        (0..3).for_each(|_| csv.push_str(&format!("Custom,tt_dnn_device,0,{}\n", cells.join(","))));
        let found = explain_ops(&csv);
        let lengths = found.untold.iter().find(|of| of.question == "how long every op took");
        let (no_cause, advice) = (found.no_cause.unwrap(), lengths.unwrap().record_with);
        assert!(no_cause.record_next.starts_with(advice), "{}: {advice}", no_cause.record_next);
        (no_cause.sentence, no_cause.measured.join("; "), advice)
    };
    let times = [
        ("DEVICE FW DURATION [ns]", "230000"),
        ("DEVICE FW START CYCLE", "5000"),
        ("DEVICE FW END CYCLE", "6000"),
        ("DEVICE BRISC KERNEL DURATION [ns]", "4000"),
    ];
    let kernels = ["", "DEVICE KERNEL DURATION [ns]", "DEVICE KERNEL DURATION [us]"];
    for (kernel, set) in kernels.iter().flat_map(|kernel| (0..16).map(move |set| (kernel, set))) {
        let own = times.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, of)| *of);
        let is_other = kernel.ends_with("[us]");
        let kernel = (*kernel, if is_other { "203" } else { "" });
        let own: Vec<_> = own.chain(Some(kernel).filter(|of| !of.0.is_empty())).collect();
        let (sentence, measured, advice) = told(&own);
        for (title, _) in times {
            let title =
                title.replace("DEVICE BRISC KERNEL DURATION [ns]", "kernel durations of RISCs");
            let is_there = measured.contains(&format!("{title} has 3 of 3 values"));
            let wanted = own.iter().any(|(of, _)| *of == title)
                || title.starts_with("kernel") && own.iter().any(|(of, _)| of.contains("BRISC"));
            assert_eq!(is_there, wanted, "{own:?}: {measured}");
        }
        assert_eq!(
            measured.contains("are empty, too"),
            set == 0 && !is_other,
            "{own:?}: {measured}"
        );
        assert_eq!(
            advice.contains("the chip's times, too"),
            set == 0 && !is_other,
            "{own:?}: {advice}"
        );
        assert!(!advice.contains("fewer zones"), "{own:?}: {advice}");
        assert_eq!(measured.contains("`DEVICE KERNEL DURATION [us]` has 3 of 3"), is_other);
        assert_eq!(
            sentence.contains("found `DEVICE KERNEL DURATION [us]`"),
            is_other,
            "{sentence}"
        );
    }
    let (_, measured, _) = told(&times[..1]);
    assert_eq!(
        measured,
        "DEVICE FW DURATION [ns] has 3 of 3 values, 690 us in all, with the kernels in it"
    );
}

/// Two runs of 5 ops each, joined by a script: no row is missing between them.
#[test]
fn runs_that_were_joined_in_one_file_are_told_apart() {
    let of = |second: u64| {
        let mut csv = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,HOST START TS,\
            DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns],\
            DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n"
            .to_owned();
        for (run, from) in [80_000_000_000_u64, second].into_iter().enumerate() {
            for (call, name) in ["A", "B", "C", "D", "E"].iter().enumerate() {
                let start = from + 60_000 * call as u64;
                let (end, calls) = (start + 52_000, (call + 1) * 1024);
                let host = 1_000_000 + call * 1_000 + run;
                csv.push_str(&format!(
                    "{name},tt_dnn_device,{calls},0,wormhole_b0,{host},{start},{end},52000,50000,8000\n"
                ));
            }
        }
        explain_ops(&csv).not_used.join("; ")
    };
    let told = of(20_000_000_000);
    assert!(told.contains("found a second run from row 7 on: call 1024 of row 7"), "{told}");
    assert!(!told.contains("missing"), "{told}");
    assert!(!of(90_000_000_000).contains("second run"));
}

/// Half of the time of the op, all of its cores have not begun (tt-metal issue 20681).
#[test]
fn cores_that_start_late_are_a_reason_in_an_ops_csv() {
    let why = |skew: &str| {
        let found = explain_ops(&format!(
            "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,CORE COUNT,AVAILABLE WORKER CORE COUNT,\
             DEVICE KERNEL DURATION [ns],DEVICE KERNEL FIRST TO LAST START [ns]\n\
             Custom,tt_dnn_device,1,0,64,64,4589,{skew}\n"
        ));
        let group = found.findings.iter().find(|of| of.cause == Cause::OpGroup);
        group.map(|of| of.why.clone()).unwrap_or_default()
    };
    assert_eq!(why("2004"), ["its cores start up to 2.0 us apart, 44 % of its time"]);
    assert_eq!(why("900"), [""; 0]);
    assert_eq!(why("4590"), [""; 0]);
}

/// Counters over 1,000 cycles on two cores: the matrix engine in use for 344, thread 2 stalled for 560.
#[test]
fn hardware_counters_have_a_sentence() {
    let reading = |core: u32, counter: &str, value: u32| {
        format!(
            "0,{core},2,BRISC,9090,2100,0,1024,,TS_DATA,0,,{{\"counter type\":\"{counter}\";\"ref cnt\":1000;\
             \"value\":{value}}}\n"
        )
    };
    let log = |values: &[(&str, u32)]| {
        let titles =
            LOG.replace("zone name,type", "zone name,type,source line,source file,meta data");
        let mut log = titles;
        for core in [1, 2] {
            for (time, kind) in [(1_000, "START"), (2_000, "END")] {
                log += &format!("0,{core},2,BRISC,1,{time},0,1024,BRISC-KERNEL,ZONE_{kind},,,\n");
            }
            for (counter, value) in values {
                log += &reading(core, counter, *value);
            }
        }
        log
    };
    let values = [
        ("FPU_COUNTER", 344),
        ("THREAD_STALLS_2", 560),
        ("WAITING_FOR_NONZERO_SEM_2", 540),
        ("THREAD_STALLS_0", 0),
    ];
    let found = explain_log(&log(&values));
    assert_eq!(
        found.counters.as_deref(),
        Some(
            "Hardware counters of launch 1 of program 1, in the mean of its cores: FPU Util 34.4 %, Thread 2 \
             Stall Rate 56.0 %, Semaphore Zero Wait T2 54.0 %; waits in which a RISC polls are in none of \
             them (kprof report shows all)."
        )
    );
    assert_eq!(explain_log(&log(&[])).counters, None);
    // More cycles than there were measure nothing.
    assert_eq!(explain_log(&log(&[("FPU_COUNTER", 2_000)])).counters, None);
}
