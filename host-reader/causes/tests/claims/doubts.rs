//! Logs with lost zones, impossible sums, and clocks that disagree: what is in doubt is said.

use super::explain_log;
use crate::model::Numbers;
use causes::{Cause, Explanation};
use reader::ledger::{LossCause, LossKey, LossLedger, LossTotals};
use recording::{Recording, device_log::read_device_log};
use wire::{Risc, RunHostId};

/// A log of one core. BRISC and TRISC_0 run for 9,000 cycles in each launch.
fn log_with(lines: &[&str]) -> String {
    let mut text = "ARCH: blackhole, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor \
        type,timer_id,time[cycles since reset],data,run host ID,zone name,type\n"
        .to_owned();
    for (risc, id) in [("BRISC", 1), ("TRISC_0", 3)] {
        let name = risc.trim_end_matches("_0");
        for (zone, id, start, end) in
            [("FW", id, 10_000, 19_150), ("KERNEL", id + 1, 10_060, 19_060)]
        {
            for (kind, at) in [("ZONE_START", start), ("ZONE_END", end)] {
                text += &format!("0,1,2,{risc},{id},{at},0,1024,{name}-{zone},{kind}\n");
            }
        }
    }
    lines.iter().for_each(|line| text += &format!("0,1,2,{line}\n"));
    text
}

/// No sum of zones of a RISC can be longer than the kernel that it is in.
#[test]
fn a_sum_that_is_longer_than_its_kernel_is_no_share_and_is_told() {
    for (cycles, is_share) in [(12_000, false), (9_400, false), (8_000, true), (100, false)] {
        let sum = format!("BRISC,60,0,{cycles},1024,COPY,ZONE_TOTAL");
        let found = explain_log(&log_with(&[&sum]));
        let share = found.findings.iter().find(|of| of.cause == Cause::KernelZone);
        assert_eq!(share.is_some(), is_share, "{cycles}: {:#?}", found.findings);
        assert!(share.is_none_or(|of| of.figure <= 100.0), "{share:?}");
        let told = found.not_used.iter().find(|of| of.contains("COPY"));
        assert_eq!(told.is_some(), cycles > 9_450, "{cycles}: {:?}", found.not_used);
        if let Some(told) = told {
            assert!(told.contains("of BRISC") && told.contains("12000 cycles in 9000"), "{told}");
        }
    }
}

/// TT-Metal's own sums of waits at circular buffers are waits, and no work that could be shortened.
#[test]
fn zones_around_waits_are_called_waits() {
    let of = |name: &str| {
        let sum = format!("TRISC_0,60,0,6000,1024,{name},ZONE_TOTAL");
        explain_log(&log_with(&[&sum]))
    };
    for (name, whose) in
        [("CB-COMPUTE-WAIT-FRONT", "fills"), ("CB-COMPUTE-RESERVE-BACK", "empties")]
    {
        let found = of(name);
        let told = found.findings.iter().find(|of| of.cause == Cause::KernelZone).unwrap();
        assert!(told.sentence.starts_with(&format!("{name} is a wait and 67 % of")), "{told:?}");
        assert!(told.advice.contains(whose) && !told.advice.contains("shorten what"), "{told:?}");
    }
    let found = of("COPY");
    assert!(found.findings[0].advice.contains("shorten what"));
}

/// Nothing but its name tells what a zone is around: what is said of waits does not depend on the name,
/// and the longest zone of each RISC is named with its share, however small it is.
#[test]
fn zones_are_told_by_their_shares_and_not_by_their_names() {
    let names = ["writer_wait", "CB_WAIT_KVQ", "COPY", "reader_barrier", "cb_reserve_back"];
    let riscs = [("BRISC", "BRISC"), ("NCRISC", "NCRISC"), ("TRISC_0", "TRISC")];
    for seed in 0..120_u64 {
        let mut numbers = Numbers::new(seed);
        let mut pick = |below: u64| usize::try_from(numbers.below(below)).unwrap();
        let (name, other) = (names[pick(5)], "OTHER");
        let (risc, kernel) = riscs[pick(3)];
        // In tenths of a percent of the kernel, below the threshold of a finding.
        let (long, short) = (20 + pick(470), pick(19));
        let zone = |name: &str, start: usize, tenths: usize| -> [String; 2] {
            [("START", start), ("END", start + tenths * 100)]
                .map(|(edge, time)| format!("{risc},60,{time},0,1024,{name},ZONE_{edge}"))
        };
        let lines = [
            [format!("{risc},7,1000,0,1024,{kernel}-KERNEL,ZONE_START"), String::new()],
            zone(name, 2_000, long),
            zone(other, 60_000, short),
            [format!("{risc},8,101000,0,1024,{kernel}-KERNEL,ZONE_END"), String::new()],
        ];
        let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
            PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
            run host ID,zone name,type\n"
            .to_owned();
        for line in lines.iter().flatten().filter(|line| !line.is_empty()) {
            log.push_str(&format!("0,1,1,{line}\n"));
        }
        let found = explain_log(&log);
        let share = |tenths: usize| format!("{}.{} %", tenths / 10, tenths % 10);
        let longest = format!("{name} {} on 1 of 1 cores)", share(long));
        let expected = match short {
            0 => format!("{risc} 100 us (zone {longest}"),
            _ => format!("{risc} 100 us (zones {}, longest {longest}", share(long + short)),
        };
        let told = found.kernels.as_ref().unwrap();
        assert!(told.contains(&expected), "{log}: {expected}: {told}");
        let measured = found.no_cause.as_ref().unwrap().measured.join("; ");
        assert!(measured.contains("with any waits within kernels"), "{measured}");
        let reasons: Vec<&str> = found.untold.iter().map(|of| of.reason.as_str()).collect();
        let zones =
            "waits were recorded at most as zones in the kernels, which do not name the buffer";
        assert!(reasons.contains(&zones), "{name}: {reasons:?}");
    }
}

/// The kernels of each RISC and their zones are told beside findings, too, and a zone around the whole
/// kernel, which explains nothing, is no finding.
#[test]
fn kernels_and_their_zones_are_told_beside_findings() {
    let found = explain_log(&log_with(&[
        "BRISC,60,10100,0,1024,COPY,ZONE_START",
        "BRISC,60,16100,0,1024,COPY,ZONE_END",
        "TRISC_0,61,10070,0,1024,ALL,ZONE_START",
        "TRISC_0,61,19050,0,1024,ALL,ZONE_END",
    ]));
    let zones: Vec<_> = found.findings.iter().filter(|of| of.cause == Cause::KernelZone).collect();
    let [zone] = zones.as_slice() else { panic!("{zones:?}") };
    assert!(zone.sentence.starts_with("COPY is 67 %"), "{zone:?}");
    let told = found.kernels.unwrap();
    // 6,000 and 8,980 of 9,000 cycles.
    for part in ["BRISC 9.0 us (zone COPY 66.7 % on", "TRISC_0 9.0 us (zone ALL 99.8 % on"] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(explain_log(&log_with(&[])).kernels, None, "no zones in kernels");
}

/// A share of zones of which some are lost or have no end is a lower bound.
#[test]
fn shares_of_lost_zones_are_at_least() {
    let whole = log_with(&[
        "BRISC,60,10100,0,1024,COPY,ZONE_START",
        "BRISC,60,16100,0,1024,COPY,ZONE_END",
        "BRISC,61,16200,0,1024,REST,ZONE_START",
        "BRISC,61,16300,0,1024,REST,ZONE_END",
    ]);
    let sentence = |found: &Explanation| {
        let told = found.findings.iter().find(|of| of.cause == Cause::KernelZone);
        told.unwrap().sentence.clone()
    };
    assert!(sentence(&explain_log(&whole)).starts_with("COPY is 67 % of"));
    let (cut, _) = whole.rsplit_once("0,1,2,BRISC,61,16300").unwrap();
    assert!(sentence(&explain_log(cut)).starts_with("COPY is at least 67 % of"));
    let mut readout = read_device_log(whole.as_bytes(), "log").unwrap();
    readout.losses = LossLedger::default();
    let lane = readout.lanes().find(|lane| lane.id.risc == Risc::Brisc).unwrap().id;
    let key = LossKey { lane, cause: LossCause::L1Full, program: Some(RunHostId(1024)) };
    readout.losses.record(key, LossTotals { zones: 25, ..LossTotals::default() });
    let found = Explanation::from_recording(&Recording { readout, ..Recording::default() });
    assert!(sentence(&found).starts_with("COPY is at least 67 % of"), "{}", sentence(&found));
    let told = found.not_used.iter().any(|of| of.starts_with("25 records were lost"));
    assert!(told, "{:?}", found.not_used);
}

/// Two cores whose clocks have no common origin: no time over both is known.
#[test]
fn clocks_of_cores_that_disagree_give_no_time_of_the_chip() {
    let near = log_with(&[]);
    let lines = near.lines().skip(2);
    let far = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let time: u64 = cells[5].parse().unwrap();
        let [before, after] = [&cells[3..5], &cells[6..]].map(|of| of.join(","));
        format!("0,2,2,{before},{},{after}\n", time + 5_000_000_000_000)
    });
    let far: String = far.collect();
    let found = explain_log(&format!("{near}{far}"));
    assert_eq!(found.devices[0].time.total_ns, None);
    assert!(found.not_used.iter().any(|of| of.contains("clocks of its cores disagree")));
    let sentences = found.no_cause.iter().flat_map(|of| &of.measured).chain(&found.time_sums);
    assert!(sentences.clone().all(|of| !of.contains(" s ")), "{:?}", sentences.collect::<Vec<_>>());
    let reasons = found.untold.iter().map(|of| &of.reason);
    assert!(reasons.clone().all(|of| !of.contains("clock of 1 of 1 chips")), "{:?}", found.untold);
}
