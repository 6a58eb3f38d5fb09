//! Symbols that the firmware provides, except the variables that hold the runtime's state. A symbol
//! that begins with `__kprof` is a constant: its address is its value.

#![allow(non_upper_case_globals, reason = "upstream's names")]

unsafe extern "C" {
    pub(super) static __kprof_control: u8;
    pub(super) static __kprof_own: u8;
    pub(super) static __kprof_vector: u8;
    pub(super) static __kprof_risc_count: u8;
    pub(super) static __kprof_bank_count: u8;

    pub(super) static noc_index: u8;
    pub(super) static my_x: [u8; 2];
    pub(super) static my_y: [u8; 2];
    pub(super) static dram_bank_to_noc_xy: [u16; 0];
    pub(super) static bank_to_dram_offset: [u32; 0];
    pub(super) static mut noc_nonposted_writes_num_issued: [u32; 2];
    pub(super) static mut noc_nonposted_writes_acked: [u32; 2];
}

unsafe extern "C" {
    pub(super) fn __kprof_begin();
    pub(super) fn __kprof_finish();
}
