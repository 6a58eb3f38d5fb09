//! Access to real chips from another process than the program that uses the chips. The reader
//! accesses the chips as a mesh.
//!
//! | question | module |
//! |---|---|
//! | which addresses may be accessed, and when is a chip not accessed again? | [`rails`] |
//! | what must a back end implement? | [`access`] |
//! | which cores does this chip have, and how fast is it? | [`facts`] |
//! | at which addresses does the running firmware keep the profiler's data? | [`layout`] |
//! | how does the reader access chips as a mesh? | [`mesh`] |
//! | which firmware does a running program use? | [`process`] |
//! | what are the names of the program's ops? | [`inspector`] |
//! | which chips are there? | `driver`, with feature `luwen` |
//! | how does one process access a chip that another process simulates? | [`shared`] |
//! | where are the sockets of shared chips, and how are stale ones removed? | [`sockets`] |
//!
//! Hosts have crashed when a chip was read while another program used the chip. The cause was
//! always an access to a tile or register that does not answer. In this crate, every access goes
//! through [`rails::Rails`], which allows access only to memory ranges that are known to answer.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

pub mod access;
#[cfg(feature = "luwen")]
pub mod driver;
pub mod facts;
pub mod inspector;
pub mod layout;
pub mod mesh;
pub mod process;
pub mod rails;
pub mod shared;
pub mod sockets;
