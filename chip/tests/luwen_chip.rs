//! Tests of `LuwenChip` on the simulator: the readout, and the facts that the controller reports.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod support;

use chip::{
    access::NocTile,
    driver::{self, DriverError, LuwenChip},
    mesh::{ChipDevice, ChipMesh, OpenOptions},
    rails::Writes,
    shared::{ChipServer, SharedChip},
};
use luwen::api::{CallbackStorage, FnAxi, FnDriver, FnNoc, FnOptions, chip::Chip};
use reader::{architecture::Arch, mesh::Mesh as _};
use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex},
};
use support::{SimulatedChip, assert_same, facts, layout, ran, read};

/// A simulated chip, and the registers of its controller.
#[derive(Clone)]
struct Backend {
    chip: Arc<SimulatedChip>,
    registers: Arc<Mutex<BTreeMap<u64, u32>>>,
    controller: Arc<Mutex<Controller>>,
}

/// The controller of a Wormhole.
#[derive(Default)]
struct Controller {
    /// Answer to each message, by number of the message.
    answers: BTreeMap<u32, u32>,
    /// Address of the controller's scratch registers.
    scratch: u64,
    /// Address of the register that raises the controller's interrupt.
    interrupt: u64,
}

/// Coordinates of a Blackhole's controller, which also has the telemetry.
const BLACKHOLE_CONTROLLER: (u32, u32) = (8, 0);
const TELEMETRY: u64 = 0x1000_1000;

impl Backend {
    fn new(chip: SimulatedChip) -> Self {
        let (registers, controller) = (Arc::default(), Arc::default());
        Self { chip: Arc::new(chip), registers, controller }
    }

    fn open(&self, arch: Arch) -> LuwenChip {
        let arch = match arch {
            Arch::WormholeB0 => luwen::def::Arch::Wormhole,
            Arch::Blackhole => luwen::def::Arch::Blackhole,
        };
        let chip = Chip::open(arch, CallbackStorage::new(carry_out, self.clone())).unwrap();
        let address = |name: &str| chip.inner.axi_address(name);
        let mut registers = self.registers.lock().unwrap();
        if arch.is_wormhole() {
            registers.insert(address("ARC_RESET.SCRATCH[5]"), 1);
            registers.insert(address("ARC_RESET.POST_CODE"), 0xC0DE_0001);
            let mut controller = self.controller.lock().unwrap();
            controller.scratch = address("ARC_RESET.SCRATCH[0]");
            controller.interrupt = address("ARC_RESET.ARC_MISC_CNTL");
        } else {
            let pointer = address("arc_ss.reset_unit.SCRATCH_RAM[13]");
            registers.insert(pointer, u32::try_from(TELEMETRY).unwrap());
        }
        drop(registers);
        LuwenChip::new(chip)
    }

    fn register(&self, address: u64) -> u32 {
        self.registers.lock().unwrap().get(&address).copied().unwrap_or(0)
    }

    fn read_registers(&self, address: u64, bytes: &mut [u8]) {
        for (address, bytes) in (address..).step_by(4).zip(bytes.chunks_mut(4)) {
            bytes.copy_from_slice(&self.register(address).to_le_bytes()[..bytes.len()]);
        }
    }

    /// Writes a register. The interrupt makes the controller read a message and answer at once.
    fn write_register(&self, address: u64, value: u32) {
        let controller = self.controller.lock().unwrap();
        let Controller { answers, scratch, interrupt } = &*controller;
        assert!((*scratch..scratch + 24).contains(&address) || address == *interrupt);
        let mut registers = self.registers.lock().unwrap();
        if address != *interrupt {
            registers.insert(address, value);
            return;
        }
        let message = registers[&(scratch + 20)] & 0xFF;
        registers.insert(scratch + 12, answers[&message]);
        registers.insert(scratch + 20, message);
    }

    fn has_telemetry(&self, entries: &[(u32, u32)]) {
        let mut registers = self.registers.lock().unwrap();
        let count = u32::try_from(entries.len()).unwrap();
        registers.extend([(TELEMETRY, 1), (TELEMETRY + 4, count)]);
        for (index, &(tag, value)) in (0_u32..).zip(entries) {
            let at = TELEMETRY + 8 + 4 * u64::from(index);
            registers.insert(at, tag | index << 16);
            registers.insert(at + 4 * u64::from(count), value);
        }
    }
}

/// Carries out an access of luwen, on the simulated chip or its controller.
fn carry_out(backend: &Backend, access: FnOptions) -> Result<(), Box<dyn Error>> {
    let tile = |x: u32, y: u32| NocTile { x: x.try_into().unwrap(), y: y.try_into().unwrap() };
    match access {
        FnOptions::Noc(FnNoc::Read { noc_id, x, y, addr, data, len }) => {
            let len = usize::try_from(len)?;
            // SAFETY: luwen passes the pointer and the length of a buffer that it borrows mutably
            // for the time of this call.
            let bytes = unsafe { std::slice::from_raw_parts_mut(data, len) };
            if (x, y) == BLACKHOLE_CONTROLLER && noc_id == 0 {
                backend.read_registers(addr, bytes);
                return Ok(());
            }
            Ok(backend.chip.read(noc_id, tile(x, y), addr, bytes)?)
        }
        FnOptions::Noc(FnNoc::Write { noc_id, x, y, addr, data, len }) => {
            let len = usize::try_from(len)?;
            // SAFETY: luwen passes the pointer and the length of a buffer that it borrows for the
            // time of this call.
            let bytes = unsafe { std::slice::from_raw_parts(data, len) };
            Ok(backend.chip.write(noc_id, tile(x, y), addr, bytes)?)
        }
        FnOptions::Axi(FnAxi::Read { addr, data, len }) => {
            let len = usize::try_from(len)?;
            // SAFETY: as for a read over the NoC.
            let bytes = unsafe { std::slice::from_raw_parts_mut(data, len) };
            backend.read_registers(addr.into(), bytes);
            Ok(())
        }
        FnOptions::Axi(FnAxi::Write { addr, data, len }) => {
            let len = usize::try_from(len)?;
            // SAFETY: as for a write over the NoC.
            let bytes = unsafe { std::slice::from_raw_parts(data, len) };
            backend.write_register(addr.into(), u32::from_le_bytes(bytes.try_into()?));
            Ok(())
        }
        FnOptions::Driver(FnDriver::DeviceInfo(_)) => Ok(()),
        other => Err(format!("{other:?} was not expected").into()),
    }
}

trait AxiAddress {
    fn axi_address(&self, name: &str) -> u64;
}

impl AxiAddress for Box<dyn luwen::api::ChipImpl> {
    fn axi_address(&self, name: &str) -> u64 {
        let (comms, _) = self.comms_obj();
        comms.axi_translate(name).unwrap().addr
    }
}

#[test]
fn readouts_through_luwen_are_those_of_the_simulators_own_mesh() {
    for (arch, cores, seed) in [(Arch::WormholeB0, 64, 1), (Arch::Blackhole, 140, 2)] {
        for writes in [Writes::Refused, Writes::ControlVectors] {
            let read_only = writes == Writes::Refused;
            let mut direct = ran(arch, cores, "full-buffer", seed);
            let backend = Backend::new(SimulatedChip::new(ran(arch, cores, "full-buffer", seed)));
            let options = OpenOptions { writes, ..OpenOptions::default() };
            let (facts, layout) = (facts(&direct), layout(&direct));
            let device = ChipDevice::open(backend.open(arch), &facts, &layout, &options).unwrap();
            let mut mesh = ChipMesh { devices: vec![device] };
            let (expected, found) = (read(&mut direct, read_only), read(&mut mesh, read_only));
            assert!(expected.record_count() > 100_000, "{}", expected.record_count());
            assert_same(&found, &expected);
            assert!(backend.chip.noted().iter().all(|access| access.1 == 1), "NoC 1 alone");
            let clock = mesh.device(0).unwrap().read_wall_clock(found.devices[0].lanes[0].id.core);
            assert!(clock.unwrap() > 0);
        }
    }
}

/// The chip is served through a socket, as `kprof record --stream` serves a chip to its program.
#[test]
fn a_chip_that_is_served_is_read_as_it_is_directly() {
    let folder = tempfile::tempdir().unwrap();
    for (arch, cores, seed) in [(Arch::WormholeB0, 72, 3), (Arch::Blackhole, 130, 4)] {
        let mut direct = ran(arch, cores, "timestamped-events", seed);
        let backend =
            Backend::new(SimulatedChip::new(ran(arch, cores, "timestamped-events", seed)));
        let (facts, layout) = (facts(&direct), layout(&direct));
        let socket = folder.path().join(arch.to_string());
        let server = ChipServer::start(&socket, &facts, backend.open(arch)).unwrap();
        let (shared, told) = SharedChip::connect(&socket).unwrap();
        assert_eq!(told, facts);
        let options = OpenOptions { writes: Writes::ControlVectors, ..OpenOptions::default() };
        let device = ChipDevice::open(shared, &told, &layout, &options).unwrap();
        let mut mesh = ChipMesh { devices: vec![device] };
        let (expected, found) = (read(&mut direct, false), read(&mut mesh, false));
        assert!(expected.record_count() > 10_000, "{}", expected.record_count());
        assert_same(&found, &expected);
        let noted = backend.chip.noted();
        assert!(noted.iter().any(|access| access.0), "control vectors are written");
        assert!(noted.iter().all(|access| access.1 == 1), "NoC 1 alone");
        drop(server);
        assert!(!socket.exists());
    }
}

#[test]
fn a_wormholes_controller_is_asked_for_fuses_and_clock() {
    let backend = Backend::new(SimulatedChip::new(ran(Arch::WormholeB0, 64, "matmul", 1)));
    let chip = backend.open(Arch::WormholeB0);
    // A row with defective memory, another with defective logic.
    let fuses = 0b10 | 0b1 << 10;
    backend.controller.lock().unwrap().answers.extend([(0x57, fuses), (0x34, 0x0004_03E8)]);
    let facts = chip.facts(3).unwrap();
    assert_eq!((facts.chip_id, facts.arch), (3, Arch::WormholeB0));
    assert_eq!((facts.harvest_mask, facts.aiclk_mhz, facts.dram_harvest_mask), (0b11, 1000, 0));
    assert!(backend.chip.noted().is_empty(), "no tile was touched");
}

#[test]
fn a_blackholes_telemetry_tells_its_columns_banks_and_clock() {
    let backend = Backend::new(SimulatedChip::new(ran(Arch::Blackhole, 140, "matmul", 1)));
    let chip = backend.open(Arch::Blackhole);
    // Tags of telemetry_tags.rs: AICLK, enabled columns, enabled GDDR, translation.
    backend.has_telemetry(&[(14, 1350), (34, 0x3FFE), (36, 0xFF), (40, 1)]);
    let facts = chip.facts(0).unwrap();
    assert_eq!((facts.harvest_mask, facts.aiclk_mhz, facts.dram_harvest_mask), (1, 1350, 0));
    assert!(facts.is_translated);
    backend.has_telemetry(&[(14, 800), (34, 0x3FFF), (36, 0x7F), (40, 0)]);
    let facts = chip.facts(0).unwrap();
    assert_eq!((facts.harvest_mask, facts.aiclk_mhz, facts.dram_harvest_mask), (0, 800, 0x80));
    assert!(!facts.is_translated);
}

/// On a machine with chips, this test does not access them.
#[test]
fn without_a_chip_the_driver_says_so_in_one_sentence() {
    if driver::scan().is_empty() {
        let error = driver::open(None).unwrap_err();
        assert!(matches!(error, DriverError::NoChip));
        assert!(error.to_string().starts_with("found no Tenstorrent chip"), "{error}");
    }
}
