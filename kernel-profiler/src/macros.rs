//! The probes: macros for kernel authors.
//!
//! Each macro computes its id at compile time, stores its zone text for the host, and expands to
//! one call. With the profiler switched off, the macros call functions that do nothing; their
//! arguments are type-checked but not evaluated.

mod counters;
mod noc;

/// Records a zone from here to the end of the enclosing block.
///
/// Two zones in one block are nested; the later one ends first. If L1 has no room for a zone, the
/// zone is counted as lost.
///
/// ```
/// use kernel_profiler::device_zone_scoped;
/// for _tile in 0..4 {
///     device_zone_scoped!("LoadTile");
///     // ...
/// }
/// ```
///
/// # Cost
/// 4 words of L1. The [crate documentation](crate#cost) has instructions and cycles.
///
/// # Compatibility
/// `DeviceZoneScopedN`.
#[macro_export]
macro_rules! device_zone_scoped {
    ($name:expr $(,)?) => {
        let _zone = {
            $crate::__site!($name => ID);
            $crate::__private::open_zone::<ID>()
        };
    };
}

/// Records a zone from here to the end of the enclosing block if a condition holds.
///
/// ```
/// use kernel_profiler::device_zone_scoped_if;
/// # let block = 3;
/// device_zone_scoped_if!("FirstBlock", block == 0);
/// ```
///
/// # Cost
/// The cost of [`device_zone_scoped!`] and one branch.
///
/// # Compatibility
/// `DeviceZoneScopedNIf`. TT-Metal's macro ignores the condition except in its streaming mode.
#[macro_export]
macro_rules! device_zone_scoped_if {
    ($name:expr, $active:expr $(,)?) => {
        let _zone = {
            $crate::__site!($name => ID);
            $crate::__private::open_zone_if::<ID>(|| $active)
        };
    };
}

/// Records the firmware's zone around a whole launch: begins the launch here; at the end of the
/// enclosing block, ends the launch and pushes its records.
///
/// The zone must be the outermost one, because opening it empties the buffers. The zone's name must
/// end in `FW`. With any other name, as in kernels, the macro records an ordinary zone.
///
/// # Cost
/// The zone uses its guaranteed slots and no other words of L1. The [crate
/// documentation](crate#cost) states the cost of the push.
///
/// # Compatibility
/// `DeviceZoneScopedMainN`.
#[macro_export]
macro_rules! device_zone_scoped_main {
    ($name:expr $(,)?) => {
        let _zone = {
            $crate::__site!($name => ID);
            $crate::__private::FixedZone::<ID, true, { $crate::__private::is_of_launch($name, true) }>::open()
        };
    };
}

/// Records the kernel's zone within the firmware's zone.
///
/// The zone's name must end in `KERNEL`; with any other name, the macro records an ordinary zone.
///
/// # Cost
/// No words of L1 beyond the zone's fixed slots, which always have room.
///
/// # Compatibility
/// `DeviceZoneScopedMainChildN`.
#[macro_export]
macro_rules! device_zone_scoped_main_child {
    ($name:expr $(,)?) => {
        let _zone = {
            $crate::__site!($name => ID);
            $crate::__private::FixedZone::<ID, false, { $crate::__private::is_of_launch($name, false) }>::open()
        };
    };
}

/// Adds the cycles from here to the end of the enclosing block to the first accumulator.
///
/// The total is recorded once per launch, with the name of the zone that used the accumulator last
/// in that launch. Sums are recorded only if the port enables them.
///
/// # Cost
/// 2 words of L1 per launch, however often the zone runs.
///
/// # Compatibility
/// `DeviceZoneScopedSumN1`, in which the total also has the name of the last zone.
#[macro_export]
macro_rules! device_zone_scoped_sum1 {
    ($name:expr $(,)?) => {
        let _zone = {
            $crate::__site!($name => ID);
            $crate::__private::open_sum::<ID, 0>()
        };
    };
}

/// Adds the cycles from here to the end of the enclosing block to the second accumulator, as
/// [`device_zone_scoped_sum1!`] does for the first.
///
/// # Compatibility
/// `DeviceZoneScopedSumN2`.
#[macro_export]
macro_rules! device_zone_scoped_sum2 {
    ($name:expr $(,)?) => {
        let _zone = {
            $crate::__site!($name => ID);
            $crate::__private::open_sum::<ID, 1>()
        };
    };
}

/// Records 64 bits of data and the time.
///
/// ```
/// use kernel_profiler::device_timestamped_data;
/// device_timestamped_data!("TilesLeft", 17_u64);
/// ```
///
/// # Cost
/// 4 words of L1.
///
/// # Compatibility
/// `DeviceTimestampedData`.
#[macro_export]
macro_rules! device_timestamped_data {
    ($name:expr, $data:expr $(,)?) => {{
        $crate::__site!($name => ID);
        $crate::__private::record_data::<ID>(|| $data);
    }};
}

/// Records 128 bits of data and the time.
///
/// ```
/// use kernel_profiler::device_timestamped_data_16b;
/// device_timestamped_data_16b!("Range", 0x1000_u64, 0x2000_u64);
/// ```
///
/// # Cost
/// 6 words of L1.
///
/// # Compatibility
/// Packet type `TS_DATA_16B` of `timeStampedData`.
#[macro_export]
macro_rules! device_timestamped_data_16b {
    ($name:expr, $first:expr, $second:expr $(,)?) => {{
        $crate::__site!($name => ID);
        $crate::__private::record_data_16b::<ID>(|| [$first, $second]);
    }};
}

/// Records an event, which is a 16-bit number, and the time.
///
/// ```
/// use kernel_profiler::{device_record_event, src_loc_name_to_hash};
/// device_record_event!(7);
/// device_record_event!(src_loc_name_to_hash!("Refilled"));
/// ```
///
/// # Cost
/// 2 words of L1.
///
/// # Compatibility
/// `DeviceRecordEvent`.
#[macro_export]
macro_rules! device_record_event {
    ($event:expr $(,)?) => {
        $crate::__private::record_event(|| $event)
    };
}

/// Polls until a condition holds, and adds the cycles to the total of the object that the kernel
/// waits for.
///
/// A wait that succeeds at its first poll adds nothing.
///
/// The kind is a constant of [`wire::wait::WaitKind`]: `CB_WAIT`, `CB_RESERVE`, `SEM_WAIT`,
/// `NOC_READ_BARRIER`, `NOC_WRITE_BARRIER`, `NOC_ATOMIC_BARRIER`, `NOC_FULL_BARRIER` or
/// `NOC_WRITE_FLUSH`. The key is the number of the circular buffer or of the NoC, or the address of
/// the semaphore.
///
/// ```
/// use kernel_profiler::{device_signal, device_wait};
/// # let tiles_received = || 1;
/// device_wait!(CB_WAIT, 3, tiles_received() >= 1);
/// // ... use the tile ...
/// device_signal!(CB_POP, 3_u32);
/// ```
///
/// # Cost
/// No cost if the first poll succeeds. If the first poll fails: two readings of the clock, a search
/// among the objects for which the kernel has already waited, and, at the kernel's end, 6 words of
/// L1 for each such object. No cost without the feature `waits`; with `sync-events`, 6 more words
/// for each wait that blocks.
///
/// # Compatibility
/// `SYNC_WAIT`, which TT-Metal records around each wait, whether it blocks or not.
#[macro_export]
macro_rules! device_wait {
    ($kind:ident, $key:expr, $is_ready:expr $(,)?) => {
        if !$is_ready {
            let wait = $crate::device_blocked_wait!($kind, $key);
            while !$is_ready {}
            wait.end();
        }
    };
}

/// Begins a wait whose first poll was not successful; the method `end` of the returned value ends
/// the wait.
///
/// Use this for loops that [`device_wait!`] cannot express. Kinds, keys and cost are the same.
#[macro_export]
macro_rules! device_blocked_wait {
    (CB_WAIT, $key:expr $(,)?) => {
        $crate::__wait!("SYNC-CB-WAIT", CB_WAIT, $key)
    };
    (CB_RESERVE, $key:expr $(,)?) => {
        $crate::__wait!("SYNC-CB-RESERVE", CB_RESERVE, $key)
    };
    (SEM_WAIT, $key:expr $(,)?) => {
        $crate::__wait!("SYNC-SEM-WAIT", SEM_WAIT, $key)
    };
    ($barrier:ident, $key:expr $(,)?) => {
        $crate::__wait!("SYNC-NOC-BARRIER", $barrier, $key)
    };
}

/// Records a signal that another RISC may wait for.
///
/// The kind is `CB_PUSH`, `CB_POP`, `SEM_SET` or `SEM_SET_REMOTE`; the key is the number of the
/// circular buffer or the address of the semaphore.
///
/// # Cost
/// 4 words of L1; no cost without the feature `sync-events`.
///
/// # Compatibility
/// `SYNC_SIGNAL`; keys of `SEM_SET_REMOTE` are those of `SYNC_SIGNAL_NOC_ADDR`, see
/// [`wire::wait::Signal`].
#[macro_export]
macro_rules! device_signal {
    (CB_PUSH, $key:expr $(,)?) => {
        $crate::__signal!("SYNC-CB-PUSH", $key)
    };
    (CB_POP, $key:expr $(,)?) => {
        $crate::__signal!("SYNC-CB-POP", $key)
    };
    (SEM_SET, $key:expr $(,)?) => {
        $crate::__signal!("SYNC-SEM-SET", $key)
    };
    (SEM_SET_REMOTE, $key:expr $(,)?) => {
        $crate::__signal!("SYNC-SEM-SET-REMOTE", $key)
    };
}

/// Begins a wait whose zone has a given name.
#[doc(hidden)]
#[macro_export]
macro_rules! __wait {
    ($name:literal, $kind:ident, $key:expr) => {{
        const KIND: ::core::primitive::u8 = $crate::__private::WaitKind::$kind.0;
        const TOTAL: ::core::primitive::u16 =
            $crate::__private::zone_id($crate::__zone_text!("SYNC-WAIT-TOTAL"));
        {
            $crate::__site!("SYNC-WAIT-TOTAL" => ID);
            let _ = ID;
        }
        $crate::__site!($name => ID);
        $crate::__private::begin_wait::<KIND, ID, TOTAL>(|| $key)
    }};
}

/// Records a signal whose zone text has a given name.
#[doc(hidden)]
#[macro_export]
macro_rules! __signal {
    ($name:literal, $key:expr) => {{
        $crate::__site!($name => ID);
        $crate::__private::record_signal::<ID>(|| ::core::primitive::u64::from($key));
    }};
}

/// Sets which RISCs run a kernel on this core in this launch: bit r for RISC r.
///
/// If no bit is set, the launch is only counted, and none of its records is pushed. A kernel may
/// pass a `bool` instead: `true` adds its RISC, and `false` prevents any push of the launch, even
/// if kernels ran.
///
/// # Compatibility
/// `DeviceValidateProfiler`; the firmware passes the launch's enables.
#[macro_export]
macro_rules! device_validate_profiler {
    ($enables:expr $(,)?) => {
        $crate::__private::validate(|| $enables)
    };
}

/// Sets the program id of this launch for all RISCs of the core.
///
/// # Compatibility
/// `DeviceZoneSetCounter`.
#[macro_export]
macro_rules! device_zone_set_counter {
    ($program_id:expr $(,)?) => {
        $crate::__private::set_counter(|| $program_id)
    };
}

/// Initialises the profiler when the firmware boots.
///
/// # Compatibility
/// `DeviceProfilerInit`.
#[macro_export]
macro_rules! device_profiler_init {
    () => {
        $crate::__private::init_profiler()
    };
}

/// Counts a trace replay.
///
/// # Compatibility
/// `DeviceIncrementTraceCount`.
#[macro_export]
macro_rules! device_increment_trace_count {
    () => {
        $crate::__private::increment_trace_count()
    };
}

/// Begins a trace replay in trace-only mode, in which only start and end times per replay are
/// recorded.
///
/// # Compatibility
/// `DeviceTraceOnlyProfilerInit`.
#[macro_export]
macro_rules! device_trace_only_profiler_init {
    () => {
        $crate::__private::init_trace_only()
    };
}

/// Returns the id of a name at this call site, and stores its zone text for the host.
///
/// ```
/// use kernel_profiler::src_loc_name_to_hash;
/// let id: u16 = src_loc_name_to_hash!("Refilled");
/// assert_ne!(id, src_loc_name_to_hash!("Drained"));
/// ```
///
/// # Compatibility
/// `SrcLocNameToHash`.
#[macro_export]
macro_rules! src_loc_name_to_hash {
    ($name:expr $(,)?) => {{
        $crate::__site!($name => ID);
        ID
    }};
}

/// Defines the firmware's variables for one RISC, all in its local RAM.
///
/// Before the first launch, the firmware must fill `noc_index`, `my_x`, `my_y` and the two tables
/// of DRAM banks. [`tensix`](crate::tensix) lists what else the firmware must provide.
#[cfg(all(feature = "enabled", any(target_arch = "riscv32", doc)))]
#[macro_export]
macro_rules! firmware_state {
    () => {
        $crate::firmware_state! {
            "_ZN15kernel_profiler6wIndexE" NEXT: u32 = 0;
            "_ZN15kernel_profiler9stackSizeE" ROOM: u32 = 0;
            "_ZN15kernel_profiler4sumsE" SUMS: [u32; 2] = [0; 2];
            "_ZN15kernel_profiler6sumIDsE" SUM_HEADERS: [u32; 2] = [0; 2];
            "_ZN15kernel_profiler10traceCountE" TRACE_COUNT: u32 = 0;
            "noc_index" NOC_INDEX: u8 = 0;
            "my_x" MY_X: [u8; 2] = [0; 2];
            "my_y" MY_Y: [u8; 2] = [0; 2];
            "dram_bank_to_noc_xy" DRAM_BANK_TO_NOC_XY: [u16; 2 * $crate::tensix::BANK_COUNT_MAX] =
                [0; 2 * $crate::tensix::BANK_COUNT_MAX];
            "bank_to_dram_offset" BANK_TO_DRAM_OFFSET: [u32; $crate::tensix::BANK_COUNT_MAX] =
                [0; $crate::tensix::BANK_COUNT_MAX];
            "noc_nonposted_writes_num_issued" NOC_WRITES_ISSUED: [u32; 2] = [0; 2];
            "noc_nonposted_writes_acked" NOC_WRITES_ACKED: [u32; 2] = [0; 2];
        }
        $crate::__firmware_waits!();
    };
    ($($symbol:literal $name:ident: $type:ty = $value:expr;)*) => {
        $(
            #[used]
            #[unsafe(export_name = $symbol)]
            static mut $name: $type = $value;
        )*
    };
}

/// Defines the totals of a kernel's waits. The totals are recorded when the kernel's zone ends.
#[cfg(feature = "waits")]
#[doc(hidden)]
#[macro_export]
macro_rules! __firmware_waits {
    () => {
        $crate::firmware_state! {
            "__kprof_waits" WAITS: $crate::wait::WaitTotals = $crate::wait::WaitTotals::new();
        }
    };
}

/// Defines nothing, because kernels record no waits.
#[cfg(not(feature = "waits"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __firmware_waits {
    () => {};
}

/// Expands to the zone text of a name, with the location of the outermost macro call.
#[doc(hidden)]
#[macro_export]
macro_rules! __zone_text {
    ($name:expr) => {
        ::core::concat!($name, ",", ::core::file!(), ",", ::core::line!(), ",KERNEL_PROFILER")
    };
}

/// Declares the id of a zone and stores its text for the host.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($name:expr => $id:ident) => {
        const TEXT: &::core::primitive::str = $crate::__zone_text!($name);
        const $id: ::core::primitive::u16 = $crate::__private::zone_id(TEXT);
        $crate::__keep_name!(TEXT);
    };
}

/// Stores a zone text in an ELF section.
#[cfg(all(feature = "enabled", target_arch = "riscv32"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __keep_name {
    ($text:ident) => {
        const _: () = {
            #[used]
            #[unsafe(link_section = ".kprof_zones")]
            static BYTES: [::core::primitive::u8; $text.len() + 1] =
                $crate::names::section_bytes($text);
        };
    };
}

/// Registers a zone text when it is first reached.
#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __keep_name {
    ($text:ident) => {
        static SITE: $crate::hosted::Site = $crate::hosted::Site::new($text);
        SITE.register();
    };
}

/// Discards the zone text, because no host reads it.
#[cfg(not(any(
    all(feature = "enabled", target_arch = "riscv32"),
    all(feature = "hosted", not(target_arch = "riscv32"))
)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __keep_name {
    ($text:ident) => {};
}
