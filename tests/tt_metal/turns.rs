//! A host that reads during a sequence of launches finds every record once and in order, while
//! lanes turn several times. Records that a lane takes during a pause of the host are found
//! afterwards.

use crate::{
    core::Core,
    package::package,
    probes::{self, Probes},
    records::decode,
    script::{self, Said, Seed, Step},
    toolchain::Chip,
};
use wire::risc::RISCS_PER_CORE;

/// Indices of the first control words for the host's progress, and for the runs and markers that
/// DRAM refused.
///
/// # Compatibility
/// `docs/wire-extensions.md`.
const CONSUMED: usize = 59;
const REFUSED: [usize; 2] = [9, 14];

/// Number of launches after which the device sees the words that the host has written.
const LATE_LAUNCHES: usize = 6;
/// Launches without a read; their records do not fit into a lane.
const PAUSE: std::ops::Range<u32> = 100..240;
/// Turns that each lane makes before the launches end, and the maximum number of launches.
///
/// The maximum is sufficient for any kernels: a kernel leaves at least 12 words, and a lane holds
/// 12,000.
const TURNS: usize = 3;
const MOST_LAUNCHES: u32 = 4000;

/// Returns a kernel that leaves up to a full vector, mostly of records of one size.
fn kernel(seed: &mut Seed) -> Vec<Step> {
    match seed.below(3) {
        0 => script::random(seed, 12, 2),
        _ => vec![Step::Event(1); usize::try_from(seed.below(240)).unwrap()],
    }
}

/// A run that a lane took: its program and its records; no records if only its fixed slots were
/// taken.
struct Expected {
    program: u32,
    said: Vec<Said>,
}

/// Returns the words of a run with these records, without padding.
fn run_words(said: &[Said]) -> u32 {
    let words = |said: &Said| match said {
        Said::Data(values) => 2 + 2 * values.len(),
        _ => 2,
    };
    12 + u32::try_from(said.iter().map(words).sum::<usize>()).unwrap()
}

/// One RISC's lane, as followed by a host.
#[derive(Default)]
struct Lane {
    stands_at: u32,
    unread: Vec<Expected>,
    refused: [u32; 2],
    turns: usize,
}

impl Lane {
    /// Adds a launch; the device may have refused all of it, or all but the fixed slots.
    fn add(&mut self, program: u32, said: Vec<Said>, refused: [u32; 2]) -> Result<(), String> {
        let [runs, markers] = [0, 1].map(|index| refused[index] - self.refused[index]);
        self.refused = refused;
        let words = run_words(&said);
        match (runs, markers) {
            (0, 0) => self.unread.push(Expected { program, said }),
            (1, all) if all == (words - 4) / 2 => {}
            (1, most) if most == (words - 12) / 2 => {
                self.unread.push(Expected { program, said: Vec::new() });
            }
            _ => return Err(format!("{runs} runs and {markers} markers refused of {words} words")),
        }
        Ok(())
    }

    /// Reads the new words and compares them.
    fn read(&mut self, core: &Core<'_>, risc: usize) -> Result<(), String> {
        let (words, now) = core.read_on(risc, self.stands_at);
        self.turns += usize::from(now < self.stands_at);
        self.stands_at = now;
        let mut rest = words.as_slice();
        for Expected { program, said } in self.unread.drain(..) {
            let length = (run_words(&said) as usize).next_multiple_of(4);
            let run = rest.split_off(..length).ok_or("a run is missing")?;
            if run[..2] != [0, 0] || run[3] != program {
                return Err(format!("no run of program {program} but {:x?}", &run[..4]));
            }
            let found: Vec<_> = decode(run)?.into_iter().skip(4).map(|one| one.said).collect();
            if found != said {
                return Err(format!("program {program} says something else"));
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(format!("{} words too many", rest.len())) }
    }
}

/// Launches and reads until each lane has turned [`TURNS`] times.
fn follow(chip: Chip, probes: &Probes, seed: u64) -> Result<(), String> {
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let mut seed = Seed(seed);
    let mut lanes: Vec<Lane> = probes.programs.iter().map(|_| Lane::default()).collect();
    let mut stands = vec![[0; RISCS_PER_CORE]];
    for program in 1..=MOST_LAUNCHES {
        if program > PAUSE.end + 80 && lanes.iter().all(|lane| lane.turns >= TURNS) {
            break;
        }
        let steps: Vec<_> = lanes.iter().map(|_| kernel(&mut seed)).collect();
        let places: Vec<_> = steps
            .iter()
            .enumerate()
            .map(|(risc, steps)| core.place_script(risc, &script::words(steps)))
            .collect();
        core.launch(&places, program)?;
        let mut stand = *stands.last().unwrap();
        for (risc, (lane, steps)) in lanes.iter_mut().zip(&steps).enumerate() {
            let named = |error| format!("launch {program}, RISC {risc}: {error}");
            let refused = REFUSED.map(|word| core.control(word + risc));
            lane.add(program, script::said(steps, probes.has_sums), refused).map_err(named)?;
            // Several launches are read at once, so that there are runs before and after a turn.
            if program.is_multiple_of(5) && !PAUSE.contains(&program) {
                lane.read(&core, risc).map_err(named)?;
            }
            if program < PAUSE.start && lane.refused != [0; 2] {
                return Err(named("refused although the host keeps up".to_owned()));
            }
            stand[risc] = lane.stands_at;
        }
        stands.push(stand);
        // At the begin of a launch, the host has never read the previous launch.
        let told = stands[stands.len().saturating_sub(LATE_LAUNCHES)];
        for (risc, word) in told.into_iter().enumerate() {
            core.set_control(CONSUMED + risc, word);
        }
    }
    if lanes.iter().any(|lane| lane.refused == [0; 2]) {
        return Err("a lane took everything while the host did not read".to_owned());
    }
    let turns: Vec<_> = lanes.iter().map(|lane| lane.turns).collect();
    if turns.iter().any(|&turns| turns < TURNS) {
        return Err(format!("lanes turned {turns:?} times in {MOST_LAUNCHES} launches"));
    }
    Ok(())
}

#[test]
fn a_host_that_follows_finds_every_record_that_a_lane_took() {
    let Some(package) = package() else { return };
    let faults = probes::faults_of_recording(package, |chip, probes| {
        let Seed(fresh) = Seed::fresh();
        let judge = |seed| {
            let error = follow(chip, probes, seed).err()?;
            Some(format!("seed {seed}: {error}"))
        };
        [1, fresh].into_iter().filter_map(judge).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
