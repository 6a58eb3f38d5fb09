//! Tests that the records that our header keeps and the records that it counts as lost add up to
//! the emitted records.

use crate::{
    core::Core,
    package::package,
    probes::{self, Probes, Variant},
    records::{Record, decode},
    script::{self, Name, Said, Seed, Step},
    toolchain::{Chip, Header},
};

/// Indices of the loss counters of RISC 0: whole zones, data and events without room in L1.
///
/// # Compatibility
/// `docs/wire-extensions.md`.
const LOST: [usize; 3] = [29, 34, 39];
const REFUSED_RUNS: usize = 9;
const REFUSED_MARKERS: usize = 14;
const REFUSED_PROGRAMS: [usize; 2] = [19, 20];

/// Numbers of zones, data and events.
type Counts = [u32; 3];

fn emitted(said: &[Said]) -> Counts {
    let count =
        |is: fn(&Said) -> bool| u32::try_from(said.iter().filter(|one| is(one)).count()).unwrap();
    [
        count(|one| *one == Said::Start),
        count(|one| matches!(one, Said::Data(_))),
        count(|one| matches!(one, Said::Event(_))),
    ]
}

/// Counts the records that a run kept, without the zones of firmware and kernel; every zone that
/// began must have ended.
fn kept(records: &[Record]) -> Result<Counts, String> {
    let said: Vec<_> = records.iter().skip(4).map(|record| record.said.clone()).collect();
    let starts = said.iter().filter(|one| **one == Said::Start).count();
    let ends = said.iter().filter(|one| **one == Said::End).count();
    if starts != ends {
        return Err(format!("{starts} zones begin, {ends} end"));
    }
    Ok(emitted(&said))
}

/// Returns a script that fills a ring up to a slot, and then makes every kind of record.
fn around_full(fill: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![Step::Event(1); fill];
    let inner =
        vec![Step::Data16([1, 2]), Step::Zone(Name::B, vec![Step::Data(3)]), Step::Event(4)];
    steps.push(Step::Sum(0, vec![Step::Zone(Name::A, inner), Step::Data(5)]));
    steps.push(Step::Sum(1, vec![Step::Event(6)]));
    steps.push(Step::Zone(Name::B, vec![Step::ZoneIf(true, vec![]), Step::Data16([7, 8])]));
    steps.extend([Step::Event(9), Step::Zone(Name::A, vec![]), Step::Data(10)]);
    steps
}

/// Fills rings to every level and compares the counts.
fn fill_rings(chip: Chip, probes: &Probes) -> Result<(), String> {
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let riscs = probes.programs.len();
    for fill in 0..=258 {
        let steps: Vec<_> = (0..riscs).map(|risc| around_full(fill + risc)).collect();
        let places: Vec<_> = steps
            .iter()
            .enumerate()
            .map(|(risc, steps)| core.place_script(risc, &script::words(steps)))
            .collect();
        let before = counters(&core, riscs);
        core.launch(&places, u32::try_from(fill).unwrap())?;
        let after = counters(&core, riscs);
        for risc in 0..riscs {
            let records =
                decode(&core.lane(risc)).map_err(|error| format!("fill {fill}: {error}"))?;
            let said = script::said(&steps[risc], probes.has_sums);
            let (kept, emitted) = (kept(&records)?, emitted(&said));
            let lost = [0, 1, 2].map(|kind| after[risc][kind].wrapping_sub(before[risc][kind]));
            // A total without room counts as a zone.
            let found = totals(records.iter().map(|record| &record.said));
            let lost_totals = totals(said.iter()) - found;
            let all = [0, 1, 2].map(|kind| kept[kind] + lost[kind]);
            if all != [emitted[0] + lost_totals, emitted[1], emitted[2]] {
                return Err(format!(
                    "fill {fill}, RISC {risc}: {kept:?} + {lost:?} != {emitted:?}, {lost_totals} totals lost"
                ));
            }
            if lost_totals > 0 && lost[1] + lost[2] == 0 {
                return Err(format!("fill {fill}, RISC {risc}: only a total found no room"));
            }
        }
        core.mark_as_read();
    }
    Ok(())
}

/// Returns the number of totals of sums among the contents of records.
fn totals<'a>(said: impl Iterator<Item = &'a Said>) -> u32 {
    u32::try_from(said.filter(|one| **one == Said::Total).count()).unwrap()
}

fn counters(core: &Core<'_>, riscs: usize) -> Vec<Counts> {
    (0..riscs).map(|risc| LOST.map(|word| core.control(word + risc))).collect()
}

/// Launches kernels without a read until the lanes are full, and then a few times more.
fn fill_lanes(chip: Chip, probes: &Probes, seed: u64) -> Result<u32, String> {
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let riscs = probes.programs.len();
    let mut seed = Seed(seed);
    let mut refused_programs = Vec::new();
    let mut refused_runs = 0;
    for program in 1..=55_u32 {
        let steps: Vec<_> = (0..riscs)
            .map(|risc| match (u64::from(program) + risc as u64) % 3 {
                0 => around_full(usize::try_from(200 + seed.below(60)).unwrap()),
                _ => script::random(&mut seed, 30, 3),
            })
            .collect();
        let places: Vec<_> = steps
            .iter()
            .enumerate()
            .map(|(risc, steps)| core.place_script(risc, &script::words(steps)))
            .collect();
        let (lost_before, before) = (counters(&core, riscs), refusals(&core, riscs));
        let ends: Vec<_> = (0..riscs).map(|risc| core.lane(risc).len()).collect();
        core.launch(&places, program)?;
        let (lost_after, after) = (counters(&core, riscs), refusals(&core, riscs));
        for risc in 0..riscs {
            let name = format!("launch {program}, RISC {risc}");
            let lane = core.lane(risc);
            let run = &lane[ends[risc]..];
            let records = if run.is_empty() { Vec::new() } else { decode(run)? };
            let kept: u32 = records.iter().map(|record| slots(&record.said)).sum();
            let refused = after[risc].1.wrapping_sub(before[risc].1);
            let lost = [0, 1, 2].map(|kind| lost_after[risc][kind] - lost_before[risc][kind]);
            let said = script::said(&steps[risc], probes.has_sums);
            let emitted: u32 = 4 + said.iter().map(slots).sum::<u32>();
            // Data of both sizes share a counter, so losses in L1 only give bounds.
            let lost_most = 2 * lost[0] + 3 * lost[1] + lost[2];
            // A lost total has one slot, a zone two.
            let lost_least = lost_most - lost[1] - lost[0].min(totals(said.iter()));
            if !(kept + refused + lost_least..=kept + refused + lost_most).contains(&emitted) {
                let kinds = self::kept(&records)?;
                return Err(format!(
                    "{name}: {kept} slots kept, zones, data, events {kinds:?}; {refused} refused; \
                     {lost:?} lost; emitted {emitted}, {:?}",
                    self::emitted(&said)
                ));
            }
            let runs = after[risc].0.wrapping_sub(before[risc].0);
            if (runs == 1) != (refused > 0) || runs > 1 {
                return Err(format!("{name}: {runs} runs and {refused} markers refused"));
            }
            if refused > 0 {
                refused_programs.push(program);
            }
            refused_runs += runs;
        }
        let named = REFUSED_PROGRAMS.map(|word| core.control(word));
        let expected = [refused_programs.first(), refused_programs.last()];
        if named != expected.map(|program| program.copied().unwrap_or(0)) {
            return Err(format!("launch {program}: {named:?} named as refused, not {expected:?}"));
        }
    }
    Ok(refused_runs)
}

fn slots(said: &Said) -> u32 {
    match said {
        Said::Data(values) => 1 + u32::try_from(values.len()).unwrap(),
        _ => 1,
    }
}

/// Returns the refused runs and markers of each RISC.
fn refusals(core: &Core<'_>, riscs: usize) -> Vec<(u32, u32)> {
    (0..riscs)
        .map(|risc| (core.control(REFUSED_RUNS + risc), core.control(REFUSED_MARKERS + risc)))
        .collect()
}

#[test]
fn kept_and_lost_are_what_was_emitted_at_every_fill() {
    let Some(package) = package() else { return };
    let faults = probes::faults_of_recording(package, |chip, probes| {
        let mut faults = Vec::new();
        faults.extend(fill_rings(chip, probes).err().map(|error| format!("L1: {error}")));
        let Seed(fresh) = Seed::fresh();
        for seed in [1, fresh] {
            match fill_lanes(chip, probes, seed) {
                Ok(0) => faults.push("DRAM: nothing was refused".to_owned()),
                Ok(_) => {}
                Err(error) => faults.push(format!("DRAM, seed {seed}: {error}")),
            }
        }
        faults
    });
    crate::publish("losses.txt", &format!("{} faults\n{}\n", faults.len(), faults.join("\n")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Number of data records that fit into a ring of 500 words, without and with a total of two words.
#[test]
fn room_for_totals_is_kept_where_a_sum_is_used() {
    let Some(package) = package() else { return };
    let all_data = vec![Step::Data(9); 130];
    let first_sum = [vec![Step::Sum(0, vec![])], all_data.clone()].concat();
    let both_sums = [vec![Step::Sum(0, vec![]), Step::Sum(1, vec![])], all_data.clone()].concat();
    for chip in Chip::ALL {
        for header in [Header::Upstream, Header::Ours] {
            let probes = probes::build(package, chip, header, Variant::Sums, 1).unwrap();
            let data = |steps: &[Step]| {
                let mut core = Core::new(chip, &probes);
                let place = core.place_script(0, &script::words(steps));
                core.launch(&[place], 1).unwrap();
                let records = decode(&core.lane(0)).unwrap();
                (kept(&records).unwrap()[1], totals(records.iter().map(|record| &record.said)))
            };
            assert_eq!(data(&all_data), (125, 0), "{chip}, {header}");
            if header == Header::Ours {
                assert_eq!(data(&first_sum), (124, 1), "{chip}");
                assert_eq!(data(&both_sums), (124, 2), "{chip}");
            }
        }
    }
}
