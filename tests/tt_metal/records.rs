//! The same kernel leaves the same records with both headers.

use crate::{
    core::Core,
    package::{Package, package},
    probes::{self, Probes, Variant},
    script::{self, Said, Seed, Step},
    toolchain::{Chip, Header, first_error, in_parallel},
};
use host_reader::{ReadOptions, read_device_profiler_with};

/// A record without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: u32,
    pub(crate) said: Said,
}

/// Decodes a lane that holds one run, the records of the fixed slots first.
///
/// This decoder is written only for these tests, from `profiler_common.h`, since the reader is
/// under test, too.
pub(crate) fn decode(words: &[u32]) -> Result<Vec<Record>, String> {
    decode_types_from(words, 0)
}

/// Decodes a lane in which packet types are numbered from `first` on.
pub(crate) fn decode_types_from(words: &[u32], first: u32) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut at = ID_WORDS;
    let mut last = 0;
    while at < words.len() {
        let pair = words.get(at..at + 2).ok_or("half a marker")?;
        at += 2;
        let [high, low] = [pair[0], pair[1]];
        if high >> 31 == 0 {
            return Err(format!("word {}: {high:#x} is no marker", at - 2));
        }
        let (id, kind) = (high >> 12 & 0xFFFF, high >> 28 & 0x7);
        if (id, kind) == (0, 0) && high & 0xFFF == 0 {
            continue;
        }
        let kind = kind.checked_sub(first).ok_or("a packet type below the first one")?;
        let mut payload = |count: usize| {
            let values = words.get(at..at + 2 * count).ok_or("data that end early")?;
            at += 2 * count;
            Ok::<_, String>(
                values
                    .chunks(2)
                    .map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1]))
                    .collect(),
            )
        };
        let said = match kind {
            0 => Said::Start,
            1 => Said::End,
            2 => Said::Total,
            3 => Said::Data(payload(1)?),
            4 => Said::Event(u16::try_from(id).unwrap_or(0)),
            5 => Said::Data(payload(2)?),
            _ => return Err(format!("packet type {kind}")),
        };
        let time = u64::from(high & 0xFFF) << 32 | u64::from(low);
        // Records in the fixed slots are not in time order.
        if at > FIXED_WORDS + 2 && kind != 2 {
            if time < last {
                return Err(format!("word {}: time runs backwards", at - 2));
            }
            last = time;
        }
        records.push(Record { id, said });
    }
    Ok(records)
}

const ID_WORDS: usize = 4;
const FIXED_WORDS: usize = 12;

/// Runs a script on every RISC and returns the records of each RISC.
fn run(probes: &Probes, scripts: &[Vec<Step>]) -> Result<Outcome, String> {
    let mut core = Core::new(probes.chip, probes);
    core.noc().answer_cycles = 150;
    let places: Vec<u32> = scripts
        .iter()
        .enumerate()
        .map(|(risc, steps)| core.place_script(risc, &script::words(steps)))
        .collect();
    core.launch(&places, PROGRAM)?;
    let lanes: Vec<_> = (0..scripts.len()).map(|risc| core.lane(risc)).collect();
    for (risc, lane) in lanes.iter().enumerate() {
        let ids = lane.get(..4).ok_or("an empty lane")?;
        if ids[..2] != [0, 0] || ids[2] & 0x1F != u32::try_from(risc).unwrap() || ids[3] != PROGRAM
        {
            return Err(format!("ID words of RISC {risc}: {ids:x?}"));
        }
    }
    let records = lanes.iter().map(|lane| decode(lane)).collect::<Result<Vec<_>, _>>()?;
    let reader = match probes.header {
        Header::Ours => check_reader(&core, probes, &records),
        _ => Ok(()),
    };
    Ok(Outcome { records, reader })
}

/// Each RISC's records, and the reader's result.
struct Outcome {
    records: Vec<Vec<Record>>,
    reader: Result<(), String>,
}

const PROGRAM: u32 = 0x1234_5678;

/// Checks that the reader finds the same number of records, and no loss or anomaly.
fn check_reader(core: &Core<'_>, probes: &Probes, records: &[Vec<Record>]) -> Result<(), String> {
    let options = ReadOptions { sums_enabled: probes.has_sums, ..ReadOptions::default() };
    let readout = read_device_profiler_with(&mut core.image(), &options)
        .map_err(|error| error.to_string())?;
    let expected: usize = records.iter().map(Vec::len).sum();
    let odd: Vec<_> = readout.anomalies.counts().collect();
    if readout.record_count() != expected || !readout.losses.is_empty() || !odd.is_empty() {
        return Err(format!(
            "the reader found {} records of {expected}, {:?}, anomalies {odd:?}",
            readout.record_count(),
            readout.losses.total(),
        ));
    }
    Ok(())
}

/// Returns the slots of a script's records; a ring has 250.
fn slots(said: &[Said]) -> usize {
    let of = |said: &Said| match said {
        Said::Data(values) => 1 + values.len(),
        _ => 1,
    };
    said.iter().map(of).sum()
}

fn compare(package: &Package, chip: Chip, variant: Variant, riscs: usize) -> Vec<String> {
    let mut faults = Vec::new();
    let [upstream, ours] = [Header::Upstream, Header::Ours]
        .map(|header| probes::build(package, chip, header, variant, riscs));
    let (upstream, ours) = match (upstream, ours) {
        (Ok(upstream), Ok(ours)) => (upstream, ours),
        (Err(error), _) | (_, Err(error)) => return vec![first_error(&error).to_owned()],
    };
    let has_sums = variant == Variant::Sums;
    let Seed(fresh) = Seed::fresh();
    for number in (0..12).chain((0..12).map(|number| fresh.wrapping_add(number))) {
        let mut seed = Seed(number);
        let scripts: Vec<_> = (0..riscs)
            .map(|_| script::unconditional(&script::random(&mut seed, 12 + number % 9, 4)))
            .collect();
        let said: Vec<_> = scripts.iter().map(|steps| script::said(steps, has_sums)).collect();
        if said.iter().any(|said| slots(said) > 240) {
            continue;
        }
        let name = format!("{chip}, {variant:?}, seed {number}");
        match (run(&upstream, &scripts), run(&ours, &scripts)) {
            (Ok(theirs), Ok(ours)) => {
                faults.extend(ours.reader.err().map(|error| format!("{name}: {error}")));
                for (risc, said) in said.iter().enumerate() {
                    let name = format!("{name}, RISC {risc}");
                    check(&name, &theirs.records[risc], &ours.records[risc], said, &mut faults);
                }
            }
            (Err(error), _) => faults.push(format!("{name}, upstream: {error}")),
            (_, Err(error)) => faults.push(format!("{name}, ours: {error}")),
        }
    }
    faults
}

/// Compares the records of both headers, and ours with the script.
fn check(
    name: &str,
    upstream: &[Record],
    ours: &[Record],
    said: &[Said],
    faults: &mut Vec<String>,
) {
    if upstream != ours {
        let differ = upstream.iter().zip(ours).position(|(one, other)| one != other);
        faults.push(format!(
            "{name}: {} records with upstream's, {} with ours; first difference {differ:?}",
            upstream.len(),
            ours.len()
        ));
    }
    let in_kernel: Vec<_> = ours.iter().skip(4).map(|record| record.said.clone()).collect();
    if in_kernel != said {
        faults.push(format!("{name}: the kernel said {said:?}, its records {in_kernel:?}"));
    }
}

#[test]
fn the_same_kernel_leaves_the_same_records_with_both_headers() {
    let Some(package) = package() else { return };
    let list: Vec<_> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [(chip, Variant::Plain, 5), (chip, Variant::Sums, 1)])
        .collect();
    let faults =
        in_parallel(&list, |&(chip, variant, riscs)| compare(package, chip, variant, riscs));
    let faults = faults.concat();
    crate::publish(
        "records.txt",
        &format!("{} differences\n{}\n", faults.len(), faults.join("\n")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
