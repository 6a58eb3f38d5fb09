//! The bus of a hart: plain memory, mapped registers, and the region of each address.
//!
//! The tile model implements [`Bus`]; this module has no state. The bus exposes plain memory as
//! byte slices, so that the interpreter accesses memory without calling the bus. All other accesses
//! use the two hooks for mapped registers (MMIO).

/// First address of the private data RAM of every baby RISC.
///
/// # Compatibility
/// `MEM_LOCAL_BASE`, tt-isa-documentation `TensixTile/BabyRISCV/README.md`, memory map.
pub const LOCAL_RAM_BASE: u32 = 0xFFB0_0000;

/// First address of the instruction RAM, which only the NCRISC of a Wormhole has.
///
/// # Compatibility
/// `MEM_NCRISC_IRAM_BASE`, tt-isa-documentation `WormholeB0/TensixTile/BabyRISCV/README.md`.
pub const INSTRUCTION_RAM_BASE: u32 = 0xFFC0_0000;

/// Result of a store to a mapped register.
pub type StoreResult = Result<Flow, Refusal>;

/// Everything that a hart's loads, stores and fetches can reach outside the hart itself.
///
/// L1 starts at address 0, the private RAM at [`LOCAL_RAM_BASE`]; words are little-endian. For an
/// access outside L1 and the private RAM, the hart calls [`region`](Self::region) and then one of
/// the MMIO hooks.
///
/// # Examples
///
/// ```
/// use sim::riscv::{Bus, Flow, Refusal, Region, Width};
///
/// /// A tile with memory, a clock, and nothing else.
/// struct Tile {
///     l1: Vec<u8>,
///     local: Vec<u8>,
/// }
///
/// impl Bus for Tile {
///     fn l1(&self) -> &[u8] {
///         &self.l1
///     }
///     fn l1_mut(&mut self) -> &mut [u8] {
///         &mut self.l1
///     }
///     fn local_ram(&self) -> &[u8] {
///         &self.local
///     }
///     fn local_ram_mut(&mut self) -> &mut [u8] {
///         &mut self.local
///     }
///     fn region(&self, address: u32) -> Option<Region> {
///         Region::in_tensix_tile(address)
///     }
///     fn mmio_load(&mut self, address: u32, _: Width, cycle: u64) -> Result<u32, Refusal> {
///         match address {
///             0xFFB1_21F0 => Ok((cycle & 0xFFFF_FFFF) as u32),
///             _ => Err(Refusal::Unmapped),
///         }
///     }
///     fn mmio_store(&mut self, _: u32, _: Width, _: u32, _: u64) -> Result<Flow, Refusal> {
///         Err(Refusal::Unmapped)
///     }
/// }
/// ```
pub trait Bus {
    /// Returns the tile's L1, starting at address 0.
    fn l1(&self) -> &[u8];

    /// Returns the tile's L1 as a mutable slice, starting at address 0.
    fn l1_mut(&mut self) -> &mut [u8];

    /// Handles a store to L1 before it takes effect; `cycle` is the cycle in which the instruction
    /// starts. Only the bits of `value` within the store's width are valid.
    ///
    /// # Errors
    /// As [`mmio_store`](Self::mmio_store); the store is then not carried out.
    #[inline(always)]
    fn before_l1_store(&mut self, address: u32, value: u32, cycle: u64) -> Result<(), Refusal> {
        let _ = (address, value, cycle);
        Ok(())
    }

    /// Handles a load from L1 after it was made; `cycle` is the cycle in which the instruction
    /// starts.
    #[inline(always)]
    fn after_l1_load(&mut self, address: u32, cycle: u64) {
        let _ = (address, cycle);
    }

    /// Returns this hart's private data RAM, starting at [`LOCAL_RAM_BASE`].
    fn local_ram(&self) -> &[u8];

    /// Returns this hart's private data RAM as a mutable slice, starting at [`LOCAL_RAM_BASE`].
    fn local_ram_mut(&mut self) -> &mut [u8];

    /// Returns this hart's instruction RAM, starting at [`INSTRUCTION_RAM_BASE`]; empty if the hart
    /// has no instruction RAM.
    ///
    /// Only instruction fetches can access this RAM.
    fn instruction_ram(&self) -> &[u8] {
        &[]
    }

    /// Returns true if this hart has the bit manipulation extensions Zba and Zbb.
    fn has_bit_manipulation(&self) -> bool {
        false
    }

    /// Returns the region of an address outside L1 and the private RAM; `None` if no region
    /// contains the address.
    fn region(&self, address: u32) -> Option<Region>;

    /// Reads a mapped register.
    ///
    /// `cycle` is the modelled cycle at which the device processes the request. The hart uses only
    /// the low bits of the result, as many as `width` has, and sign-extends them if the instruction
    /// is a signed load.
    ///
    /// # Errors
    /// [`Refusal::Busy`] makes the hart stall and try again in its next run; any other refusal
    /// becomes a trap.
    fn mmio_load(&mut self, address: u32, width: Width, cycle: u64) -> Result<u32, Refusal>;

    /// Writes a mapped register; bits of `value` beyond `width` are zero.
    ///
    /// `cycle` is the modelled cycle at which the device processes the request. If the store waits
    /// in the store queue, `cycle` is later than the cycle of the instruction.
    ///
    /// # Errors
    /// As [`mmio_load`](Self::mmio_load).
    fn mmio_store(&mut self, address: u32, width: Width, value: u32, cycle: u64) -> StoreResult;

    /// Reads a control and status register, then changes its value as `access` requests.
    ///
    /// # Errors
    /// If the register does not allow the access. The hart then treats the instruction as illegal.
    /// The default implementation refuses every access.
    fn control_status(&mut self, access: ControlStatus, cycle: u64) -> Result<u32, Refusal> {
        let _ = (access, cycle);
        Err(Refusal::Unsupported)
    }
}

/// An access to a control and status register.
///
/// ```
/// use sim::riscv::{ControlStatus, ControlStatusChange};
/// let set = ControlStatus { number: 0x7C0, change: ControlStatusChange::Set, operand: 0x18 };
/// assert_eq!(set.changed(0x40001), Some(0x40019));
/// let read = ControlStatus { change: ControlStatusChange::Nothing, ..set };
/// assert_eq!(read.changed(0x40001), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControlStatus {
    /// Number of the register.
    pub number: u32,
    /// Change of the register's value.
    pub change: ControlStatusChange,
    /// Operand of the change, for example the bits to set.
    pub operand: u32,
}

/// Change that an access makes to a control and status register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlStatusChange {
    /// No change.
    Nothing,
    /// Replaces the value with the operand.
    Write,
    /// Sets the bits of the register that are set in the operand.
    Set,
    /// Clears the bits of the register that are set in the operand.
    Clear,
}

impl ControlStatus {
    /// Returns the register's new value if its old value is `value`; `None` if the access does not
    /// write the register.
    #[must_use]
    pub const fn changed(self, value: u32) -> Option<u32> {
        match self.change {
            ControlStatusChange::Nothing => None,
            ControlStatusChange::Write => Some(self.operand),
            ControlStatusChange::Set => Some(value | self.operand),
            ControlStatusChange::Clear => Some(value & !self.operand),
        }
    }
}

/// What a hart does after a device has carried out the hart's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The hart continues.
    Continue,
    /// The hart ends its run after this instruction, for example because the store put a hart into
    /// reset.
    Yield,
}

/// Reason why a device refuses an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The device is not ready: its FIFO is empty or full. The hart stalls at this instruction.
    Busy,
    /// There is no register at this address.
    Unmapped,
    /// The register exists, but does not support this width, does not support loads or stores, or
    /// is not modelled.
    Unsupported,
}

/// Number of bytes that an access reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// One byte.
    Byte,
    /// Two bytes.
    Half,
    /// Four bytes.
    Word,
}

impl Width {
    /// Returns the width in bytes.
    #[inline(always)]
    pub const fn byte_count(self) -> u32 {
        1 << self as u32
    }
}

/// Kind of memory region, which determines the latency of loads.
///
/// # Compatibility
/// Rows of the load latency table of tt-isa-documentation `TensixTile/BabyRISCV/README.md`
/// (both architectures).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Region {
    /// The hart's private data RAM.
    LocalRam,
    /// Mailboxes, PC buffers, TTSync and Tensix semaphores.
    Mailbox,
    /// Tensix GPRs, backend configuration, and the addresses to which RISCs store Tensix
    /// instructions.
    Tensix,
    /// Registers of the TDMA-RISC.
    Tdma,
    /// Registers of tile control, debug and status (with the wall clock), interrupt controller
    /// (PIC), NoC interfaces and NoC overlay.
    TileControl,
    /// L1.
    L1,
    /// Private data RAMs of all harts, at addresses that all harts can access. Only a Blackhole has
    /// such addresses.
    LocalRamAlias,
}

impl Region {
    pub(super) const COUNT: usize = 7;

    /// Returns the region of an address of a Tensix tile that is outside L1 and the private RAM.
    ///
    /// The tile model decides whether a RISC may access the region, and whether there is a register
    /// at the address.
    ///
    /// # Compatibility
    /// Memory map of tt-isa-documentation `{WormholeB0,BlackholeA0}/TensixTile/BabyRISCV/README.md`.
    pub const fn in_tensix_tile(address: u32) -> Option<Self> {
        Some(match address {
            0xFFB1_1000..=0xFFB1_1FFF => Self::Tdma,
            0xFFB1_2000..=0xFFB1_3FFF | 0xFFB2_0000..=0xFFB7_FFFF => Self::TileControl,
            0xFFB1_4000..=0xFFB1_DFFF => Self::LocalRamAlias,
            0xFFE0_0000..=0xFFE0_0FFF | 0xFFE4_0000..=0xFFE6_FFFF | 0xFFEF_0000..=0xFFEF_FFFF => {
                Self::Tensix
            }
            0xFFB8_0000..=0xFFB8_0023 => Self::Tensix,
            0xFFE8_0000..=0xFFEA_FFFF | 0xFFEC_0000..=0xFFEC_3FFF => Self::Mailbox,
            _ => return None,
        })
    }
}
