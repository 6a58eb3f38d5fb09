//! A real chip as a reader's mesh, read from outside of the program that uses it.
//!
//! | question | module |
//! |---|---|
//! | what may be touched, and when does it stop? | [`rails`] |
//! | what does a back end have to offer? | [`access`] |
//! | which cores does this chip have, how fast is it? | [`facts`] |
//! | where does the running firmware keep the profiler's words? | [`layout`] |
//! | how do these become a mesh? | [`mesh`] |
//! | which firmware does a running program use? | [`process`] |
//! | what are its ops called? | [`inspector`] |
//! | which chips are there? | `driver`, with feature `luwen` |
//!
//! Reading a chip beside the program that uses it has taken hosts down, always by an access to
//! something that does not answer. Here every access goes through [`rails::Rails`].

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
