//! Costs of streamed records beside upstream's streaming header, and the bars.

use crate::{
    core::{Core, Cost},
    cost::returned,
    package::{Package, package},
    probes::{self, Probes, Variant},
    toolchain::{Chip, Header, first_error, in_parallel},
};
use wire::stream::words;

const PASSES: u32 = 64;

fn per_pass(core: &mut Core<'_>, probe: &str, drains: bool) -> Cost {
    let mut slope = |name: &str| {
        let [short, long] = [8_u32, 8 + PASSES].map(|passes| {
            for _ in 0..2 {
                returned(core.call(0, "begin", &[1]));
                returned(core.call(0, name, &[passes]));
                returned(core.call(0, "finish", &[]));
                if drains {
                    core.set_control(words::READ, core.control(words::WRITTEN));
                }
            }
            returned(core.call(0, "begin", &[1]));
            returned(core.call(0, name, &[passes]))
        });
        let of = |long: u64, short: u64| (long - short).div_ceil(u64::from(PASSES));
        println!("{name} {:?} {:?}", (long.instructions - short.instructions) as f64 / 64., (long.cycles - short.cycles) as f64 /64.);
        Cost {
            instructions: of(long.instructions, short.instructions),
            cycles: of(long.cycles, short.cycles),
        }
    };
    let (whole, alone) = (slope(probe), slope("nothing"));
    Cost {
        instructions: whole.instructions - alone.instructions,
        cycles: whole.cycles - alone.cycles,
    }
}

#[test]
fn trial() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        for (header, variant) in [(Header::Ours, Variant::Stream), (Header::Ours, Variant::StreamCalls), (Header::Upstream, Variant::Stream)] {
            if header == Header::Upstream && std::env::var_os("UP").is_none() { continue }
            let probes = probes::build(package, chip, header, variant, 2).map_err(|e| first_error(&e).to_owned()).unwrap();
            let mut core = Core::new(chip, &probes);
            println!("== {chip} {header} {variant:?}");
            for probe in ["zone", "data", "data_16b", "event", "kernel_zone"] {
                println!("{probe}: {:?}", per_pass(&mut core, probe, true));
            }
            let program = &probes.programs[0];
            let size = |name: &str| program.symbol(name).size_bytes;
            println!("site {} of 7", size("zone_sites_8") - size("zone_sites_1") - (size("nothing_sites_8") - size("nothing_sites_1")));
            for risc in [0, 1] {
            returned(core.call(risc, "finish", &[]));
            println!("begin {:?}", returned(core.call(risc, "begin", &[1])));
            println!("finish {:?}", returned(core.call(risc, "finish", &[])));
            println!("begin {:?}", returned(core.call(risc, "begin", &[1])));
            println!("finish {:?}", returned(core.call(risc, "finish", &[])));
            }
            if header == Header::Ours {
                returned(core.call(0, "begin", &[1]));
                returned(core.call(0, "zone", &[600]));
                let a = returned(core.call(0, "zone", &[100]));
                let b = returned(core.call(0, "zone", &[200]));
                println!("dropped {} {}", (b.instructions - a.instructions) as f64 / 100., (b.cycles - a.cycles) as f64 / 100.);
            }
        }
    }
}
