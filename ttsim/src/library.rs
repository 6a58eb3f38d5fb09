//! Calls into the loaded library. This module contains every call into foreign code, and all unsafe
//! code of this crate.
//!
//! Between [`Library::load`] and [`Library::initialise`], only [`Library::set_callbacks`] may be
//! called. At any other call, the library ends the process.
//!
//! # Compatibility
//! `docs/libttsim_api.md` of tenstorrent/ttsim 1.10: The library uses the C calling convention and
//! throws no exceptions. A process has at most one instance, and makes one call after the other.
//! The library ends the process if a call violates a rule.

#![allow(unsafe_code, reason = "calls into a library that is loaded at run time")]

use std::{
    ffi::c_void,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// A loaded libttsim library.
#[derive(Debug)]
pub struct Library {
    init: Init,
    exit: Exit,
    set_callbacks: SetCallbacks,
    config_read: ConfigRead,
    config_write: ConfigWrite,
    memory_read: MemoryRead,
    memory_write: MemoryWrite,
    clock: Clock,
    tile_read: Option<TileRead>,
    tile_write: Option<TileWrite>,
    is_initialised: bool,
    /// Keeps the library's code mapped. This field must outlive the function pointers in the other
    /// fields.
    _mapped: libloading::Library,
}

/// Host callback that reads the host's physical memory.
pub type ReadHost = unsafe extern "C" fn(address: u64, bytes: *mut c_void, length: u32);
/// Host callback that writes the host's physical memory.
pub type WriteHost = unsafe extern "C" fn(address: u64, bytes: *const c_void, length: u32);

type Init = unsafe extern "C" fn();
type Exit = unsafe extern "C" fn();
type SetCallbacks = unsafe extern "C" fn(Option<ReadHost>, Option<WriteHost>);
type ConfigRead = unsafe extern "C" fn(u32, u32) -> u32;
type ConfigWrite = unsafe extern "C" fn(u32, u32, u32);
type MemoryRead = unsafe extern "C" fn(u64, *mut c_void, u32);
type MemoryWrite = unsafe extern "C" fn(u64, *const c_void, u32);
type Clock = unsafe extern "C" fn(u32);
type TileRead = unsafe extern "C" fn(u32, u32, u64, *mut c_void, u32);
type TileWrite = unsafe extern "C" fn(u32, u32, u64, *const c_void, u32);

/// True while this process has loaded a library. A process can load only one library at a time.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

impl Library {
    /// Loads the library at `path`.
    ///
    /// Loading executes code in the file; the user accepts this by giving the path.
    ///
    /// # Errors
    /// If the file is not a library for this machine or lacks an entry point, or if this process
    /// has a library loaded already.
    pub fn load(path: &Path) -> Result<Self, String> {
        if IS_LOADED.swap(true, Ordering::SeqCst) {
            return Err("this process already runs a simulator".to_owned());
        }
        let library = Self::map(path);
        if library.is_err() {
            IS_LOADED.store(false, Ordering::SeqCst);
        }
        library
    }

    fn map(path: &Path) -> Result<Self, String> {
        // SAFETY: loading runs the file's initialisers, which the user asked for by naming the
        // file. The initialisers of libttsim have no requirements on this process.
        let mapped = unsafe { libloading::Library::new(path) };
        let mapped = mapped.map_err(|error| error.to_string())?;
        Ok(Self {
            // SAFETY: the interface documents this entry point with this type.
            init: *unsafe { entry_point(&mapped, "libttsim_init") }?,
            // SAFETY: the interface documents this entry point with this type.
            exit: *unsafe { entry_point(&mapped, "libttsim_exit") }?,
            // SAFETY: the interface documents this entry point with this type; a missing callback
            // is a null pointer, which is how Rust represents `None` here.
            set_callbacks: *unsafe { entry_point(&mapped, "libttsim_set_pci_dma_mem_callbacks") }?,
            // SAFETY: the interface documents this entry point with this type.
            config_read: *unsafe { entry_point(&mapped, "libttsim_pci_config_rd32") }?,
            // SAFETY: the interface documents this entry point with this type.
            config_write: *unsafe { entry_point(&mapped, "libttsim_pci_config_wr32") }?,
            // SAFETY: the interface documents this entry point with this type.
            memory_read: *unsafe { entry_point(&mapped, "libttsim_pci_mem_rd_bytes") }?,
            // SAFETY: the interface documents this entry point with this type.
            memory_write: *unsafe { entry_point(&mapped, "libttsim_pci_mem_wr_bytes") }?,
            // SAFETY: the interface documents this entry point with this type.
            clock: *unsafe { entry_point(&mapped, "libttsim_clock") }?,
            // SAFETY: the interface documents this entry point with this type.
            tile_read: unsafe { entry_point(&mapped, "libttsim_tile_rd_bytes") }.ok().map(|at| *at),
            // SAFETY: the interface documents this entry point with this type.
            tile_write: unsafe { entry_point(&mapped, "libttsim_tile_wr_bytes") }
                .ok()
                .map(|at| *at),
            is_initialised: false,
            _mapped: mapped,
        })
    }

    /// Returns the address of the function `libttsim_init` in the library. Two loaded libraries are
    /// the same if they have the same address.
    #[must_use]
    pub fn init_address(&self) -> usize {
        self.init as usize
    }

    /// Sets the callbacks through which the chip accesses the host's memory. Has no effect after
    /// [`Library::initialise`].
    pub fn set_callbacks(&mut self, read: Option<ReadHost>, write: Option<WriteHost>) {
        if !self.is_initialised {
            // SAFETY: the library is not initialised, as the interface demands. It calls the
            // callbacks only within calls of its other entry points.
            unsafe { (self.set_callbacks)(read, write) };
        }
    }

    /// Initialises the chip. Only the first call has an effect.
    pub fn initialise(&mut self) {
        if !std::mem::replace(&mut self.is_initialised, true) {
            // SAFETY: `IS_LOADED` allows one library in this process, and `is_initialised` one call.
            unsafe { (self.init)() };
        }
    }

    /// Ends the simulation of the chip. The library refuses all later calls.
    pub fn exit(mut self) {
        if std::mem::take(&mut self.is_initialised) {
            // SAFETY: the library is initialised, and `self` is consumed, so this is its last call.
            unsafe { (self.exit)() };
        }
    }

    /// Reads a word of a PCI function's configuration space; `offset` is a multiple of 4.
    pub fn read_config(&mut self, function: u32, offset: u32) -> u32 {
        // SAFETY: the library is initialised, and `&mut self` makes this the only call. The library
        // ends the process if it does not know the offset.
        unsafe { (self.config_read)(function, offset) }
    }

    /// Writes a word of a PCI function's configuration space.
    pub(crate) fn write_config(&mut self, function: u32, offset: u32, value: u32) {
        // SAFETY: the library is initialised, and `&mut self` makes this the only call.
        unsafe { (self.config_write)(function, offset, value) };
    }

    /// Reads from physical addresses in the chip's BARs.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) {
        let size = u32::try_from(bytes.len()).expect("callers read at most 4 GiB at once");
        // SAFETY: the library is initialised, `&mut self` makes this the only call, and it
        // writes `size` bytes, which `bytes` has.
        unsafe { (self.memory_read)(address, bytes.as_mut_ptr().cast(), size) };
    }

    /// Writes to physical addresses in the chip's BARs.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        let size = u32::try_from(bytes.len()).expect("callers write at most 4 GiB at once");
        // SAFETY: the library is initialised, `&mut self` makes this the only call, and it
        // reads `size` bytes, which `bytes` has.
        unsafe { (self.memory_write)(address, bytes.as_ptr().cast(), size) };
    }

    /// Runs the chip for a number of clocks.
    pub fn clock(&mut self, clocks: u32) {
        // SAFETY: the library is initialised, and `&mut self` makes this the only call.
        unsafe { (self.clock)(clocks) };
    }

    /// Reads from a tile's address space; returns false if the library has no such entry point.
    pub fn read_tile(&mut self, (x, y): (u32, u32), address: u64, bytes: &mut [u8]) -> bool {
        let size = u32::try_from(bytes.len()).expect("callers read at most 4 GiB at once");
        let Some(read) = self.tile_read else { return false };
        // SAFETY: the library is initialised, `&mut self` makes this the only call, and it
        // writes `size` bytes, which `bytes` has.
        unsafe { read(x, y, address, bytes.as_mut_ptr().cast(), size) };
        true
    }

    /// Writes to a tile's address space; returns false if the library has no such entry point.
    pub fn write_tile(&mut self, (x, y): (u32, u32), address: u64, bytes: &[u8]) -> bool {
        let size = u32::try_from(bytes.len()).expect("callers write at most 4 GiB at once");
        let Some(write) = self.tile_write else { return false };
        // SAFETY: the library is initialised, `&mut self` makes this the only call, and it
        // reads `size` bytes, which `bytes` has.
        unsafe { write(x, y, address, bytes.as_ptr().cast(), size) };
        true
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        IS_LOADED.store(false, Ordering::SeqCst);
    }
}

/// Returns the function that a library exports as `name`.
///
/// # Safety
/// The library must export a function called `name`. `T` must be a function pointer with the type
/// of that function.
unsafe fn entry_point<'library, T>(
    library: &'library libloading::Library,
    name: &str,
) -> Result<libloading::Symbol<'library, T>, String> {
    // SAFETY: the caller promises the type.
    unsafe { library.get(name) }.map_err(|_| format!("it exports no {name}"))
}
