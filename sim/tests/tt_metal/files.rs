//! Tests of the layouts and constants in the firmware's files. They do not run the firmware.

use crate::package::sets;
use object::{Object as _, ObjectSymbol as _};
use reader::firmware_elf::debug_info::DebugInfo;
use sim::{arch::Arch, random::Stream, tt_metal::firmware::FirmwareSet};
use std::{fs, path::Path};
use wire::risc::RISCS_PER_CORE;

fn info(set: &Path, processor: &str) -> DebugInfo {
    let file = fs::read(set.join(processor).join(format!("{processor}.elf"))).unwrap();
    DebugInfo::parse(&file).unwrap()
}

/// Checks the offsets against those of a hand-written loader that booted these files on
/// Tenstorrent's simulator.
#[test]
fn mailboxes_lie_where_another_loader_has_found_them() {
    let Some(sets) = sets() else { return };
    for folder in sets {
        let set = FirmwareSet::open(&folder).unwrap();
        let (address, core_info, profiler) = match set.arch() {
            Arch::WormholeB0 => (0x10, 2544, 2816),
            Arch::Blackhole => (0x60, 2672, 2944),
        };
        let info = info(&folder, "brisc");
        assert_eq!(info.constant("mailboxes"), Ok(address));
        let launch = 16;
        for (path, offset, size_bytes) in [
            ("launch[0]", launch, 144),
            ("launch[0].kernel_config.kernel_config_base", launch, 16),
            ("launch[0].kernel_config.rta_offset", launch + 28, 20),
            ("launch[0].kernel_config.mode", launch + 48, 1),
            ("launch[0].kernel_config.kernel_text_offset", launch + 52, 20),
            ("launch[0].kernel_config.brisc_noc_id", launch + 104, 1),
            ("launch[0].kernel_config.min_remote_cb_start_index", launch + 106, 1),
            ("launch[0].kernel_config.host_assigned_id", launch + 108, 4),
            ("launch[0].kernel_config.enables", launch + 112, 4),
            ("launch[0].kernel_config.ncrisc_kernel_size16", launch + 130, 2),
            ("launch[1].kernel_config.preload", launch + 144 + 143, 1),
            ("go_messages[0].signal", 1171, 1),
            ("go_message_index", 1216, 4),
            ("watcher.enable", 1232, 4),
            ("core_info.absolute_logical_x", core_info + 235, 1),
            ("core_info.absolute_logical_y", core_info + 236, 1),
            ("profiler", profiler, 10_496),
            ("profiler.buffer[4].data[0]", profiler + 256 + 4 * 2048, 4),
        ] {
            let part = info.part("mailboxes", path).unwrap();
            assert_eq!((part.offset, part.size_bytes), (offset, size_bytes), "{path}");
        }
        let address = u32::try_from(address).unwrap();
        assert_eq!(set.control_address(), address + profiler);
        assert_eq!(set.vector_address(), address + profiler + 256);
    }
}

#[test]
fn constants_of_the_profiler_and_places_of_tables_are_in_the_files() {
    let Some(sets) = sets() else { return };
    for folder in sets {
        let set = FirmwareSet::open(&folder).unwrap();
        let brisc = info(&folder, "brisc");
        for (name, value) in [
            ("PROFILER_ID_RISC_SHIFT", 0),
            ("PROFILER_ID_FLAT_SHIFT", 5),
            ("PROFILER_ID_TRACE_SHIFT", 13),
            ("PROFILER_MARKER_TS_HIGH_BITS", 12),
            ("PROFILER_L1_VECTOR_SIZE", 512),
            ("PROFILER_L1_CONTROL_VECTOR_SIZE", 64),
        ] {
            assert_eq!(brisc.constant(name), Ok(value), "{name}");
        }
        let is_wormhole = set.arch() == Arch::WormholeB0;
        assert_eq!(is_wormhole, folder.join("erisc").is_dir(), "drisc is Blackhole's");
        let (images, banks, coordinates) = if is_wormhole {
            ([0x8960, 0x9960, 0xA960, 0xB160, 0xB960], 0xD160, 0xD960)
        } else {
            ([0xA080, 0xC080, 0xE080, 0xF080, 0x1_0080], 0x1_3080, 0x1_3880)
        };
        for (name, address) in ["brisc", "ncrisc", "trisc0", "trisc1", "trisc2"].iter().zip(images)
        {
            assert_eq!(info(&folder, name).argument("do_crt1", "data_image"), Ok(address));
        }
        let given = brisc.argument("noc_bank_table_init", "mem_bank_to_noc_addr");
        assert_eq!(given, Ok(banks));
        let function = "noc_worker_logical_to_virtual_map_init";
        let given = brisc.argument(function, "worker_logical_to_virtual_map_addr");
        assert_eq!(given, Ok(coordinates));
    }
}

/// Checks that a kernel with the Rust runtime cannot be linked against this firmware.
///
/// The runtime requires symbols that the firmware lacks. It therefore cannot run in the firmware's
/// dynamic-NoC mode, in which the runtime would have to maintain the write counters.
#[test]
fn the_rust_runtime_does_not_link_against_them() {
    let Some(sets) = sets() else { return };
    for folder in sets {
        let set = FirmwareSet::open(&folder).unwrap();
        for risc_index in 0..RISCS_PER_CORE {
            let file = object::File::parse(set.file(risc_index).unwrap()).unwrap();
            let mut names = file.symbols().filter_map(|symbol| symbol.name().ok());
            assert_eq!(names.find(|name| name.starts_with("__kprof_")), None);
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let Some(sets) = sets() else { return };
    let info = info(&sets[0], "trisc1");
    let error = info.part("mailboxes", "launch[8].mode").unwrap_err().to_string();
    assert!(error.contains("member `mailboxes.launch[8].mode (at `8]`)`"), "{error}");
    assert!(info.constant("NO_SUCH_NAME").unwrap_err().to_string().contains("NO_SUCH_NAME"));
    let error = FirmwareSet::open(&sets[0].join("brisc")).unwrap_err().to_string();
    assert!(error.contains("brisc/brisc/brisc.elf") && error.contains("expected a folder"));
    let stripped = DebugInfo::parse(b"\x7FELF").unwrap_err().to_string();
    assert!(stripped.contains("expected an ELF file with DWARF"), "{stripped}");
}

/// Checks that no file contents cause a panic or an endless loop.
#[test]
fn damaged_files_are_refused_or_read() {
    let Some(sets) = sets() else { return };
    let file = fs::read(sets[0].join("trisc1/trisc1.elf")).unwrap();
    let mut random = Stream::new(0xDA11, &[]);
    let mut refused = 0;
    for _ in 0..300 {
        let mut file = file.clone();
        for _ in 0..1 + random.below(12) {
            let at = usize::try_from(random.below(file.len() as u64)).unwrap();
            file[at] = random.below(256).to_le_bytes()[0];
        }
        // Damages the headers, because parsers are most likely to trust them.
        if random.below(2) == 0 {
            let at = usize::try_from(random.below(200)).unwrap();
            file[at] = random.below(256).to_le_bytes()[0];
        }
        file.truncate(file.len() - usize::try_from(random.below(2) * random.below(9000)).unwrap());
        refused += u32::from(DebugInfo::parse(&file).is_err());
        let all = [(); 5].map(|()| file.clone());
        let _ = FirmwareSet::from_files(all);
    }
    assert!(refused > 50, "{refused}");
}
