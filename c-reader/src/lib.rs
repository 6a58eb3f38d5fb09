//! The host side of the device profiler behind a C interface, `include/kprof.h`.
//!
//! | question | module |
//! |---|---|
//! | What does a call return, and why did it fail? | [`status`] |
//! | What can a host do to a chip? | [`mesh`] |
//! | How is a mesh prepared, and read? | [`session`] |
//! | How is it read while programs run? | [`periodic`] |
//! | What did the reads give? | [`recording`] |
//! | Which files can be written of it? | [`outputs`] |
//!
//! # Rules of the interface
//!
//! - **Errors.** Every call that can fail returns a [`KprofStatus`](status::KprofStatus), and
//!   [`kprof_last_error`](status::kprof_last_error) has a sentence about the last failure of the
//!   calling thread. No panic leaves the library: it becomes a status.
//! - **Arguments.** A null pointer, a misaligned one, and a struct whose `struct_size` is that of
//!   another version are answered with an error. Nothing else about a pointer can be checked: it
//!   has to lead to what its type says.
//! - **Threads.** Handles may be passed between threads. A mesh and a session take part in one
//!   call at a time: a second one at the same time, from another thread or from a callback, gets
//!   `KPROF_STATUS_BUSY`. A recording may be read by any number of threads at the same time. A
//!   handle is freed once, when no call uses it any more.
//! - **Callbacks** are called by the thread that called the library, during that call and in no
//!   other; those of a mesh with a periodic reader by its thread alone. They must return: no
//!   exception and no `longjmp` may leave them.
//! - **Lifetimes.** Texts and columns belong to the recording that gave them, and are valid and
//!   unchanged until it is freed.

#![deny(unsafe_code)]

mod arguments;
pub mod explanation;
mod handle;
pub mod mesh;
pub mod outputs;
pub mod periodic;
pub mod programs;
pub mod recording;
pub mod session;
pub mod status;
