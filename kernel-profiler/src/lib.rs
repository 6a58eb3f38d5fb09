//! The device-side profiler runtime.

#![no_std]

pub mod port;
