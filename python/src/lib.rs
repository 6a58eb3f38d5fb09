//! The native part of the Python package `kprof`: recordings as Arrow tables, and the simulator.
//!
//! Times and figures come from `host-reader`; nothing is computed here. Every table is exported
//! through the Arrow PyCapsule interface, so that pandas, polars and pyarrow can use it directly.

#![deny(unsafe_code)]

mod arguments;
mod calls;
mod diff;
mod frames;
mod host;
mod mesh_reader;
mod periodic;
mod recording;
mod signals;
mod simulated;
mod tables;
mod ttnn;

use pyo3::prelude::*;

/// The native part of kprof.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        calls::KnownCalls,
        diff::diff,
        host::Host,
        mesh_reader::MeshReader,
        periodic::PeriodicReader,
        recording::{PyRecording, explain_ops_csv_json, open_recordings, table_of_texts},
        signals::{end_at_interrupts, end_at_signals, interrupt_answered, signal_answered},
        simulated::{SimulatedMesh, read_device_profiler, workloads},
        ttnn::{TtnnLaunchLog, TtnnSession, ttnn_environment},
    };
}

/// Returns a Python exception with the message of an error and of its causes.
fn value_error(error: &dyn std::error::Error) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(host_reader::sentence::from_error(error))
}
