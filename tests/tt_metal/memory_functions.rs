//! No program calls `memcpy` or `memset` because of our header. Kernels are linked without a
//! library that has them, and gcc generates such calls for loops and for copies of structures.

use crate::{
    package::{Package, package, sources},
    probes,
    toolchain::{Chip, Header, Mode, Processor, Target, folder, in_parallel, run},
};

const LEVELS: [&str; 3] = ["O2", "O3", "Os"];

/// Ways to compile: the mode, and definitions.
const WAYS: [(Mode, &[&str]); 5] = [
    (Mode::Plain, &["PROFILE_NOC_EVENTS=1"]),
    (Mode::Sums, &["PROFILE_NOC_EVENTS=1", "KERNEL_PROFILER_DEBUG_DUMP", "DEVICE_DEBUG_DUMP=1"]),
    (Mode::Sums, &["PROFILE_NOC_EVENTS=3", "PROFILE_PERF_COUNTERS=32"]),
    (Mode::Accumulate, &[]),
    (Mode::Dispatch, &["DISPATCH_KERNEL"]),
];

/// Returns the processors of a chip on which the header's code or tt-metal's flags differ.
const fn processors(chip: Chip) -> [Processor; 5] {
    use Processor::{ActiveErisc, Brisc, Erisc, IdleErisc, Ncrisc, Trisc0};
    match chip {
        Chip::Wormhole => [Brisc, Ncrisc, Trisc0, IdleErisc, Erisc],
        Chip::Blackhole => [Brisc, Ncrisc, Trisc0, IdleErisc, ActiveErisc],
    }
}

/// Links the probes; the linker rejects functions that are in no library.
fn link(package: &Package, number: usize, target: &Target) -> Result<(), String> {
    let folder = folder("memory_functions");
    let object = folder.join(format!("{number}.o"));
    let mut command = target.compiler(package);
    // Overrides the flag against such calls that tt-metal gives most processors.
    command.args(["-ftree-loop-distribute-patterns", "-flto", "-x", "c++", "-c"]);
    command.arg(sources().join("probes.cpp")).arg("-o").arg(&object);
    run(&mut command)?;
    probes::link(package, target, &object, 0, &folder.join(format!("{number}.elf")))
}

#[test]
fn nothing_calls_functions_of_memory_at_any_level_on_any_processor() {
    let Some(package) = package() else { return };
    let mut targets = Vec::new();
    for chip in Chip::ALL {
        for processor in processors(chip) {
            for (level, (mode, defines)) in
                LEVELS.into_iter().flat_map(|level| WAYS.map(|way| (level, way)))
            {
                // BRISC has all functions, so it is tried in every way. On the other processors,
                // only the way with the most calls is tried.
                if processor != Processor::Brisc && !defines.contains(&"DEVICE_DEBUG_DUMP=1") {
                    continue;
                }
                let mut target = Target::new(chip, processor, Header::Ours);
                target.mode = mode;
                target.optimisation = Some(level);
                target.defines = defines.iter().map(|&define| define.to_owned()).collect();
                targets.push(target);
            }
        }
    }
    let numbered: Vec<_> = targets.iter().enumerate().collect();
    let faults = in_parallel(&numbered, |(number, target)| {
        let error = link(package, *number, target).err()?;
        let said: Vec<_> = error.lines().filter(|line| line.contains("undefined")).collect();
        let said = if said.is_empty() { error.clone() } else { said.join("; ") };
        Some(format!("{} {:?} {:?}: {said}", target.stem(), target.optimisation, target.defines))
    });
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    assert!(targets.len() > 50, "{} programs", targets.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
