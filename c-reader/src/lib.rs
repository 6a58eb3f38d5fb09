//! C interface of the device profiler's host side. The C header is `include/kprof.h`.
//!
//! | question | module |
//! |---|---|
//! | What does a call return, and why did it fail? | [`status`] |
//! | How does the library access a host's chips? | [`mesh`] |
//! | How is a mesh prepared, and read? | [`session`] |
//! | How is a mesh read while programs run? | [`periodic`] |
//! | What was read? | [`recording`] |
//! | Which files can be written from a recording? | [`outputs`] |
//!
//! # Rules of the interface
//!
//! - **Errors.** Every call that can fail returns a [`KprofStatus`](status::KprofStatus), and
//!   [`kprof_last_error`](status::kprof_last_error) returns a message about the last failure of the
//!   calling thread. No panic leaves the library: a panic becomes a status.
//! - **Arguments.** A call returns an error for a null pointer (unless null is allowed), a
//!   misaligned pointer, or a struct whose `struct_size` differs from the size of the struct in
//!   this version of the library. Nothing else about a pointer can be checked: it must point to a
//!   valid value of its type.
//! - **Threads.** Handles may be passed between threads. A mesh and a session can be used by one
//!   call at a time: a second call at the same time, from another thread or from a callback,
//!   returns `KPROF_STATUS_BUSY`. A recording may be read by any number of threads at the same
//!   time. A handle must be freed once, when no call uses it any more.
//! - **Callbacks** run only in the thread that called the library, during that call. Callbacks of a
//!   mesh with a periodic reader run only in the reader's thread. Every callback must return
//!   normally: it must not be left by an exception or by `longjmp`.
//! - **Lifetimes.** Texts and columns belong to the recording that returned them. They are valid
//!   and unchanged until the recording is freed.

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
