//! The loaded library: every call into foreign code, and all unsafe code of this crate.
//!
//! # Compatibility
//! `docs/libttsim_api.md` of tenstorrent/ttsim 1.10: C calling convention, no exceptions, one
//! instance per process, calls one after the other, and an end of the process on a violation.

#![allow(unsafe_code, reason = "calls into a library that is loaded at run time")]

use std::{
    ffi::c_void,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// A libttsim that is loaded and initialised.
#[derive(Debug)]
pub(crate) struct Library {
    config_read: ConfigRead,
    memory_read: MemoryRead,
    memory_write: MemoryWrite,
    clock: Clock,
    /// Keeps the code of the pointers above mapped.
    _mapped: libloading::Library,
}

type Init = unsafe extern "C" fn();
type ConfigRead = unsafe extern "C" fn(u32, u32) -> u32;
type MemoryRead = unsafe extern "C" fn(u64, *mut c_void, u32);
type MemoryWrite = unsafe extern "C" fn(u64, *const c_void, u32);
type Clock = unsafe extern "C" fn(u32);

/// True once this process has initialised the library, which is allowed only once.
static IS_INITIALISED: AtomicBool = AtomicBool::new(false);

impl Library {
    /// Loads the library at `path` and initialises its chip.
    ///
    /// The code in the file is executed: the user accepts this by giving the path.
    ///
    /// # Errors
    /// If the file is not a library for this machine or lacks an entry point, or if this process
    /// has already initialised a library.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        if IS_INITIALISED.swap(true, Ordering::SeqCst) {
            return Err("this process already runs a simulator".to_owned());
        }
        // SAFETY: the initialisers of the file are run, which the user asked for by naming it;
        // libttsim has none that need anything of this process.
        let mapped = unsafe { libloading::Library::new(path) };
        let mapped = mapped.map_err(|error| error.to_string())?;
        // SAFETY: the interface documents this entry point with this type.
        let init = *unsafe { entry_point::<Init>(&mapped, "libttsim_init") }?;
        let library = Self {
            // SAFETY: the interface documents this entry point with this type.
            config_read: *unsafe { entry_point(&mapped, "libttsim_pci_config_rd32") }?,
            // SAFETY: the interface documents this entry point with this type.
            memory_read: *unsafe { entry_point(&mapped, "libttsim_pci_mem_rd_bytes") }?,
            // SAFETY: the interface documents this entry point with this type.
            memory_write: *unsafe { entry_point(&mapped, "libttsim_pci_mem_wr_bytes") }?,
            // SAFETY: the interface documents this entry point with this type.
            clock: *unsafe { entry_point(&mapped, "libttsim_clock") }?,
            _mapped: mapped,
        };
        // SAFETY: `IS_INITIALISED` was false until now, so this is the first call of all.
        unsafe { init() };
        Ok(library)
    }

    /// Reads a word of the chip's PCI configuration space; `offset` is a multiple of 4.
    pub(crate) fn read_config(&mut self, offset: u32) -> u32 {
        // SAFETY: the library is initialised, and `&mut self` makes this the only call. Any
        // offset that it does not know ends the process.
        unsafe { (self.config_read)(0, offset) }
    }

    /// Reads from physical addresses in the chip's windows.
    pub(crate) fn read(&mut self, address: u64, bytes: &mut [u8]) {
        let size = u32::try_from(bytes.len()).expect("callers read at most a window at once");
        // SAFETY: the library is initialised, `&mut self` makes this the only call, and it
        // writes `size` bytes, which `bytes` has.
        unsafe { (self.memory_read)(address, bytes.as_mut_ptr().cast(), size) };
    }

    /// Writes to physical addresses in the chip's windows.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        let size = u32::try_from(bytes.len()).expect("callers write at most a window at once");
        // SAFETY: the library is initialised, `&mut self` makes this the only call, and it
        // reads `size` bytes, which `bytes` has.
        unsafe { (self.memory_write)(address, bytes.as_ptr().cast(), size) };
    }

    /// Runs the chip for a number of clocks.
    pub(crate) fn clock(&mut self, clocks: u32) {
        // SAFETY: the library is initialised, and `&mut self` makes this the only call.
        unsafe { (self.clock)(clocks) };
    }
}

/// Returns the function that a library exports under this name.
///
/// # Safety
/// The library must export the name as a function of type `T`, a function pointer.
unsafe fn entry_point<'library, T>(
    library: &'library libloading::Library,
    name: &str,
) -> Result<libloading::Symbol<'library, T>, String> {
    // SAFETY: the caller promises the type.
    unsafe { library.get(name) }.map_err(|_| format!("it exports no {name}"))
}
