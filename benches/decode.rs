//! Wall-clock cost of the decoder.
fn main() {}
