//! A mesh of chips whose memory is accessed through callbacks.

#![allow(unsafe_code, reason = "calls into functions that a host hands over")]

use crate::{
    arguments::{HasSize, Out, array, sized, text},
    handle::{Handle, free},
    status::{Fault, KprofStatus, guard},
};
use host_reader::{
    clock::EthernetPing,
    host::monotonic_ns,
    mesh::{
        AccessError, AccessResult, ChipLink, CoreDescription, Device, DeviceDescription,
        DramDescription, LogicalCoord, Memory, Mesh, Noc0Coord, WordRange,
    },
};
use std::{
    collections::BTreeSet,
    ffi::{CStr, c_char, c_void},
    time::Duration,
};
use wire::CoreKind;

/// Result of a callback: the access was carried out.
pub const KPROF_ACCESS_OK: i32 = 0;
/// Result of a callback: there is no such core.
pub const KPROF_ACCESS_NO_SUCH_CORE: i32 = 1;
/// Result of a callback: the requested words are not all within the core's L1 or the DRAM bank.
pub const KPROF_ACCESS_OUT_OF_RANGE: i32 = 2;
/// Result of a callback: the chip does not answer. Any result without a constant has the same
/// meaning.
pub const KPROF_ACCESS_UNREACHABLE: i32 = 3;
/// Result of a callback: the requested words are lost, so the access must not be repeated.
pub const KPROF_ACCESS_GONE: i32 = 4;

/// Kind of a core: a compute tile with five RISCs.
pub const KPROF_CORE_TENSIX: u32 = 0;
/// Kind of a core: an Ethernet tile that is connected to another chip.
pub const KPROF_CORE_ACTIVE_ETH: u32 = 1;
/// Kind of a core: an Ethernet tile that is not connected.
pub const KPROF_CORE_IDLE_ETH: u32 = 2;

/// A core that can be profiled, with the addresses of its profiler memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofCore {
    /// Column on the NoC-0 grid.
    pub noc0_x: u16,
    /// Row on the NoC-0 grid.
    pub noc0_y: u16,
    /// Column in the grid of cores of the same kind.
    pub logical_x: u16,
    /// Row in the grid of cores of the same kind.
    pub logical_y: u16,
    /// One of `KPROF_CORE_TENSIX`, `KPROF_CORE_ACTIVE_ETH`, `KPROF_CORE_IDLE_ETH`.
    pub kind: u32,
    /// Index of the core in the list of its chip's cores. The list is ordered by NoC-0 x, then by
    /// NoC-0 y.
    pub flat_id: u32,
    /// L1 byte address of the control vector.
    pub control_address: u64,
    /// L1 byte address of the vector in which the first RISC records. The vectors of the other
    /// RISCs follow without gaps.
    pub vector_address: u64,
}

/// A chip of a mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofChip {
    /// Number of the chip in its mesh.
    pub chip_id: u32,
    /// Clock frequency of the tiles in MHz.
    pub aiclk_mhz: u32,
    /// Lower-case name of the architecture, such as `wormhole_b0`.
    pub arch: *const c_char,
    /// Cores that can be profiled, ordered by flat id.
    pub cores: *const KprofCore,
    /// Number of cores.
    pub core_count: usize,
    /// Number of worker cores, as printed in the first line of a device log.
    pub max_compute_cores: u32,
    /// Number of DRAM banks that hold profiler data. The data of each core is in one of these
    /// banks.
    pub bank_count: u32,
    /// Byte address of the profiler region, equal in every bank.
    pub region_address: u64,
    /// Bytes reserved for the region in each bank.
    pub region_bytes: u64,
}

/// Two cores of different chips that can exchange messages directly.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofLink {
    /// Index of the chip that sends the message.
    pub sender: u32,
    /// Index of the chip that echoes the message.
    pub receiver: u32,
    /// Column of the sending core on the NoC-0 grid.
    pub sender_x: u16,
    /// Row of the sending core on the NoC-0 grid.
    pub sender_y: u16,
    /// Column of the echoing core on the NoC-0 grid.
    pub receiver_x: u16,
    /// Row of the echoing core on the NoC-0 grid.
    pub receiver_y: u16,
}

/// Time stamps of a message that is sent over a link and echoed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KprofPing {
    /// Sender's clock when the message was sent, in cycles.
    pub sender_start_cycles: u64,
    /// Receiver's clock when the message arrived, in cycles.
    pub receiver_start_cycles: u64,
    /// Receiver's clock when the echo was sent, in cycles.
    pub receiver_end_cycles: u64,
    /// Sender's clock when the echo arrived, in cycles.
    pub sender_end_cycles: u64,
}

/// Callbacks that access the chips of a mesh.
///
/// The parameter `chip` of a callback is the index of a chip in the mesh, from 0. The parameter
/// `context` is the field `context` of this struct.
///
/// The first four callbacks must be set. The other callbacks may be null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofMeshCallbacks {
    /// `sizeof(KprofMeshCallbacks)`.
    pub struct_size: usize,
    /// Pointer that is passed to every callback; the library does not dereference it.
    pub context: *mut c_void,
    /// Reads words from a core's L1, in address order.
    pub read_l1: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            chip: u32,
            x: u16,
            y: u16,
            address: u64,
            words: *mut u32,
            word_count: usize,
        ) -> i32,
    >,
    /// Writes words to a core's L1, in address order.
    pub write_l1: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            chip: u32,
            x: u16,
            y: u16,
            address: u64,
            words: *const u32,
            word_count: usize,
        ) -> i32,
    >,
    /// Reads words from a DRAM bank.
    pub read_dram: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            chip: u32,
            bank: u32,
            address: u64,
            words: *mut u32,
            word_count: usize,
        ) -> i32,
    >,
    /// Reads a tile's 64-bit wall clock.
    pub read_wall_clock: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            chip: u32,
            x: u16,
            y: u16,
            cycles: *mut u64,
        ) -> i32,
    >,
    /// Reads the host's monotonic clock in nanoseconds. If null, the library reads the system's
    /// `CLOCK_MONOTONIC`, so that times in several recordings of one machine can be compared.
    pub host_time_ns: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Waits on the host for `duration_ns`. If null, the calling thread sleeps.
    pub wait_ns: Option<unsafe extern "C" fn(context: *mut c_void, duration_ns: u64)>,
    /// Sends a message over the link with the index `link`, and makes the receiver echo the
    /// message. If null, no links are used.
    pub exchange:
        Option<unsafe extern "C" fn(context: *mut c_void, link: u32, ping: *mut KprofPing) -> i32>,
    /// Returns a message about the last failed callback, or null. The message must stay valid until
    /// the next callback.
    pub last_error: Option<unsafe extern "C" fn(context: *mut c_void) -> *const c_char>,
    /// Links between the chips.
    pub links: *const KprofLink,
    /// Number of links.
    pub link_count: usize,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofMeshCallbacks {
    const NAME: &'static str = "KprofMeshCallbacks";
}

/// A mesh of chips; created by `kprof_mesh_new`, freed by `kprof_mesh_free`.
#[derive(Debug)]
pub struct KprofMesh(pub(crate) Handle<CallbackMesh>);

/// The callbacks of a mesh, and the context that is passed to them.
#[derive(Clone, Copy, Debug)]
struct Accesses {
    context: *mut c_void,
    read_l1: unsafe extern "C" fn(*mut c_void, u32, u16, u16, u64, *mut u32, usize) -> i32,
    write_l1: unsafe extern "C" fn(*mut c_void, u32, u16, u16, u64, *const u32, usize) -> i32,
    read_dram: unsafe extern "C" fn(*mut c_void, u32, u32, u64, *mut u32, usize) -> i32,
    read_wall_clock: unsafe extern "C" fn(*mut c_void, u32, u16, u16, *mut u64) -> i32,
    host_time_ns: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    wait_ns: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    exchange: Option<unsafe extern "C" fn(*mut c_void, u32, *mut KprofPing) -> i32>,
    last_error: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
}

impl Accesses {
    fn new(callbacks: &KprofMeshCallbacks) -> Result<Self, Fault> {
        let missing =
            |name: &str| Fault::invalid(format!("expected a callback `{name}`, found null"));
        Ok(Self {
            context: callbacks.context,
            read_l1: callbacks.read_l1.ok_or_else(|| missing("read_l1"))?,
            write_l1: callbacks.write_l1.ok_or_else(|| missing("write_l1"))?,
            read_dram: callbacks.read_dram.ok_or_else(|| missing("read_dram"))?,
            read_wall_clock: callbacks.read_wall_clock.ok_or_else(|| missing("read_wall_clock"))?,
            host_time_ns: callbacks.host_time_ns,
            wait_ns: callbacks.wait_ns,
            exchange: callbacks.exchange,
            last_error: callbacks.last_error,
        })
    }

    /// Returns the host's message about the last failed callback.
    fn reason(&self, code: i32) -> String {
        let Some(last_error) = self.last_error else {
            return format!("the access failed with code {code}");
        };
        // SAFETY: `kprof_mesh_new` requires that callbacks can be called with the context, by a
        // thread in a call of the library or by the thread of a periodic reader. This is such a
        // thread.
        let text = unsafe { last_error(self.context) };
        if text.is_null() {
            return format!("the access failed with code {code}");
        }
        // SAFETY: not null. `last_error` must return a text that ends with a zero byte and is valid
        // until the next callback. The text is copied before the next callback.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_string_lossy().chars().take(LONGEST_REASON).collect()
    }

    /// Converts the result code of a callback to a `Result`.
    fn answer(&self, code: i32, range: &WordRange) -> AccessResult {
        let chip_id = range.chip_id;
        match code {
            KPROF_ACCESS_OK => Ok(()),
            KPROF_ACCESS_NO_SUCH_CORE => Err(range.nowhere()),
            KPROF_ACCESS_OUT_OF_RANGE => Err(range.outside()),
            KPROF_ACCESS_GONE => Err(AccessError::Gone { chip_id, reason: self.reason(code) }),
            _ => Err(AccessError::Unreachable { chip_id, reason: self.reason(code) }),
        }
    }
}

/// Maximum length of a host's message in characters; longer messages are truncated.
const LONGEST_REASON: usize = 1000;

/// Chips accessed through callbacks.
#[derive(Debug)]
pub(crate) struct CallbackMesh {
    accesses: Accesses,
    devices: Vec<CallbackDevice>,
    links: Vec<ChipLink>,
}

// SAFETY: only the pointer `context` is not `Send`. The library passes this pointer to callbacks
// and never dereferences it. `kprof_mesh_new` requires that callbacks can be called by every thread
// that uses the mesh.
unsafe impl Send for CallbackMesh {}

/// A chip accessed through callbacks.
#[derive(Debug)]
struct CallbackDevice {
    accesses: Accesses,
    /// Index of the chip in its mesh.
    index: u32,
    description: DeviceDescription,
}

impl CallbackDevice {
    fn range(&self, memory: Memory, address: u64, word_count: usize) -> WordRange {
        WordRange { chip_id: self.description.chip_id, memory, address, word_count }
    }
}

impl Device for CallbackDevice {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        let range = self.range(Memory::L1(core), address, words.len());
        let Accesses { context, read_l1, .. } = self.accesses;
        let (pointer, count) = (words.as_mut_ptr(), words.len());
        // SAFETY: callbacks may be called with the context during a call, as `kprof_mesh_new`
        // requires. The pointer points to `count` initialised words of `words`.
        let code = unsafe { read_l1(context, self.index, core.x, core.y, address, pointer, count) };
        self.accesses.answer(code, &range)
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let range = self.range(Memory::L1(core), address, words.len());
        let Accesses { context, write_l1, .. } = self.accesses;
        let (pointer, count) = (words.as_ptr(), words.len());
        // SAFETY: callbacks may be called with the context during a call, as `kprof_mesh_new`
        // requires. The pointer points to `count` words, which the callback only reads.
        let code =
            unsafe { write_l1(context, self.index, core.x, core.y, address, pointer, count) };
        self.accesses.answer(code, &range)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        let range = self.range(Memory::Dram(bank), address, words.len());
        let Accesses { context, read_dram, .. } = self.accesses;
        let (pointer, count) = (words.as_mut_ptr(), words.len());
        // SAFETY: callbacks may be called with the context during a call, as `kprof_mesh_new`
        // requires. The pointer points to `count` initialised words of `words`.
        let code = unsafe { read_dram(context, self.index, bank, address, pointer, count) };
        self.accesses.answer(code, &range)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let range = self.range(Memory::WallClock(core), 0, 2);
        let Accesses { context, read_wall_clock, .. } = self.accesses;
        let mut cycles = 0;
        // SAFETY: callbacks may be called with the context during a call, as `kprof_mesh_new`
        // requires. The pointer points to a local variable.
        let code = unsafe { read_wall_clock(context, self.index, core.x, core.y, &raw mut cycles) };
        self.accesses.answer(code, &range).map(|()| cycles)
    }

    fn host_time_ns(&mut self) -> u64 {
        let Some(host_time_ns) = self.accesses.host_time_ns else {
            return monotonic_ns();
        };
        // SAFETY: callbacks may be called with the context during a call, as `kprof_mesh_new`
        // requires.
        unsafe { host_time_ns(self.accesses.context) }
    }

    fn wait_ns(&mut self, duration_ns: u64) {
        match self.accesses.wait_ns {
            // SAFETY: callbacks may be called with the context during a call, as
            // `kprof_mesh_new` requires.
            Some(wait_ns) => unsafe { wait_ns(self.accesses.context, duration_ns) },
            None => std::thread::sleep(Duration::from_nanos(duration_ns)),
        }
    }
}

impl Mesh for CallbackMesh {
    fn device_count(&self) -> usize {
        self.devices.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.devices.get_mut(index).map(|device| device as &mut dyn Device)
    }

    fn links(&self) -> Vec<ChipLink> {
        self.links.clone()
    }

    fn exchange(&mut self, link: &ChipLink) -> Result<EthernetPing, AccessError> {
        let chip_id = self.devices.get(link.sender).map_or(0, |device| device.description.chip_id);
        let index = self.links.iter().position(|known| known == link);
        let index = index.and_then(|index| u32::try_from(index).ok());
        let (Some(index), Some(exchange)) = (index, self.accesses.exchange) else {
            let reason = format!("there is no link from core {}", link.sender_core);
            return Err(AccessError::Unreachable { chip_id, reason });
        };
        let mut ping = KprofPing::default();
        // SAFETY: callbacks may be called with the context during a call, as `kprof_mesh_new`
        // requires. The pointer points to an initialised local struct.
        let code = unsafe { exchange(self.accesses.context, index, &raw mut ping) };
        let memory = Memory::WallClock(link.sender_core);
        self.accesses.answer(code, &WordRange { chip_id, memory, address: 0, word_count: 2 })?;
        Ok(EthernetPing {
            sender_start_cycles: ping.sender_start_cycles,
            receiver_start_cycles: ping.receiver_start_cycles,
            receiver_end_cycles: ping.receiver_end_cycles,
            sender_end_cycles: ping.sender_end_cycles,
        })
    }
}

/// Creates a mesh of the given chips. The descriptions are copied.
///
/// # Safety
/// `callbacks`, `chips` and everything that they point to must be valid during the call.
///
/// Until the mesh is freed, the callbacks must be callable with their context from every thread
/// that passes the mesh to the library, and from the thread of a periodic reader. The callbacks
/// must read or write no more words than requested, and must return. `mesh` must point to memory
/// for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_mesh_new(
    callbacks: *const KprofMeshCallbacks,
    chips: *const KprofChip,
    chip_count: usize,
    mesh: *mut *mut KprofMesh,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out = unsafe { Out::new(mesh, "mesh") }?;
        // SAFETY: the caller passes a pointer to a valid struct.
        let callbacks = unsafe { sized(callbacks, "callbacks") }?;
        let accesses = Accesses::new(&callbacks)?;
        // SAFETY: the caller passes a pointer to an array of this length.
        let chips = unsafe { array(chips, chip_count, "chips") }?;
        // SAFETY: the caller passes a pointer to an array of this length.
        let links = unsafe { array(callbacks.links, callbacks.link_count, "links") }?;
        let mut devices = Vec::with_capacity(chips.len());
        let mut ids = BTreeSet::new();
        for (index, chip) in (0..).zip(chips) {
            // SAFETY: the caller promises that everything that the chip points to is valid.
            let description = unsafe { describe(chip) }?;
            if !ids.insert(description.chip_id) {
                return Err(Fault::invalid(format!(
                    "expected a unique number for each chip, found chip {} twice",
                    chip.chip_id
                )));
            }
            devices.push(CallbackDevice { accesses, index, description });
        }
        let links = links.iter().filter(|_| accesses.exchange.is_some());
        let links = links.map(|link| chip_link(link, devices.len())).collect::<Result<_, _>>()?;
        let made = KprofMesh(Handle::new(CallbackMesh { accesses, devices, links }));
        out.set(Box::into_raw(Box::new(made)));
        Ok(())
    })
}

/// Frees a mesh; null is allowed. A mesh in use by a call or a periodic reader is not freed.
///
/// # Safety
/// `mesh` must be null or come from `kprof_mesh_new`, and must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_mesh_free(mesh: *mut KprofMesh) -> KprofStatus {
    // SAFETY: the caller promises that the pointer is null or came from `kprof_mesh_new`.
    guard(|| unsafe { free(mesh, "mesh", |mesh| &mesh.0) })
}

/// Copies a chip's description.
///
/// # Safety
/// `chip.arch` must be null or point to a text. `chip.cores` must be null or point to
/// `chip.core_count` cores.
unsafe fn describe(chip: &KprofChip) -> Result<DeviceDescription, Fault> {
    // SAFETY: the caller passes null or a text.
    let arch = unsafe { text(chip.arch, "chips.arch") }?;
    // SAFETY: the caller passes a pointer to `chip.core_count` cores.
    let cores = unsafe { array(chip.cores, chip.core_count, "chips.cores") }?;
    Ok(DeviceDescription {
        chip_id: chip.chip_id,
        arch: arch.to_owned(),
        aiclk_mhz: chip.aiclk_mhz,
        max_compute_cores: chip.max_compute_cores,
        cores: cores.iter().map(core_description).collect::<Result<_, _>>()?,
        dram: DramDescription {
            bank_count: chip.bank_count,
            region_address: chip.region_address,
            region_bytes: chip.region_bytes,
        },
    })
}

fn core_description(core: &KprofCore) -> Result<CoreDescription, Fault> {
    let kind = match core.kind {
        KPROF_CORE_TENSIX => CoreKind::Tensix,
        KPROF_CORE_ACTIVE_ETH => CoreKind::ActiveEth,
        KPROF_CORE_IDLE_ETH => CoreKind::IdleEth,
        other => {
            return Err(Fault::invalid(format!(
                "expected a kind of core from 0 to 2 at ({},{}), found {other}",
                core.noc0_x, core.noc0_y
            )));
        }
    };
    Ok(CoreDescription {
        noc0: Noc0Coord { x: core.noc0_x, y: core.noc0_y },
        logical: LogicalCoord { x: core.logical_x, y: core.logical_y },
        kind,
        flat_id: core.flat_id,
        control_address: core.control_address,
        vector_address: core.vector_address,
    })
}

fn chip_link(link: &KprofLink, chip_count: usize) -> Result<ChipLink, Fault> {
    let (sender, receiver) = (link.sender as usize, link.receiver as usize);
    if sender >= chip_count || receiver >= chip_count {
        return Err(Fault::invalid(format!(
            "expected links between {chip_count} chips, found one from chip {sender} to {receiver}"
        )));
    }
    Ok(ChipLink {
        sender,
        sender_core: Noc0Coord { x: link.sender_x, y: link.sender_y },
        receiver,
        receiver_core: Noc0Coord { x: link.receiver_x, y: link.receiver_y },
    })
}
