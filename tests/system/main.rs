//! System tests: kernels on the simulator, read back by the host reader.

mod clock;
mod names;
