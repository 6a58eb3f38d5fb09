//! Real chips as a mesh for the reader, accessed from outside of the program that uses them.
//!
//! | question | module |
//! |---|---|
//! | which addresses may be accessed, and when does access stop? | [`rails`] |
//! | what does a back end have to implement? | [`access`] |
//! | which cores does this chip have, how fast is it? | [`facts`] |
//! | at which addresses does the running firmware keep the profiler's words? | [`layout`] |
//! | how are chips made into a mesh? | [`mesh`] |
//! | which firmware does a running program use? | [`process`] |
//! | what are the names of the program's ops? | [`inspector`] |
//! | which chips are there? | `driver`, with feature `luwen` |
//!
//! Reading a chip while another program uses it has crashed hosts, always by an access to a tile or
//! register that does not answer. Here every access goes through [`rails::Rails`].

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
