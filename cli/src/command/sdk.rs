//! `kprof sdk`: writes linker scripts for the user's own kernels.

use crate::{
    args::SdkArgs,
    failure::{Failure, failure, make_folder},
};
use sim::{
    arch::Arch,
    machine::{
        images::{self, Mode, Selection},
        link_script::link_script,
    },
};
use std::{fs, io::Write};
use wire::{CoreKind, risc::RISCS_PER_CORE};

/// Writes a linker script for each processor (RISC) of each architecture.
pub(crate) fn run(args: &SdkArgs) -> Result<(), Failure> {
    for arch in Arch::ALL {
        let folder = args.output.join(arch.facts().name);
        make_folder(&folder)?;
        for index in 0..RISCS_PER_CORE {
            let script = link_script(selection(arch, args), index);
            let name = images::processor(CoreKind::Tensix, index);
            let path = folder.join(format!("{name}.ld"));
            fs::write(&path, script)
                .map_err(|error| failure!("cannot write {}: {error}", path.display()))?;
        }
        writeln!(std::io::stdout(), "{}", folder.display())?;
    }
    Ok(())
}

/// Returns the variant of the firmware for which kernels are linked.
const fn selection(arch: Arch, args: &SdkArgs) -> Selection {
    let mode = match (args.stream, args.waits) {
        (true, _) => Mode::Stream,
        (false, true) => Mode::WaitTotals,
        (false, false) => Mode::Plain,
    };
    Selection { mode, ..Selection::new(arch, args.enable_sum_profiling) }
}
