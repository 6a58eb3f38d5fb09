//! Stages of an op's pipeline and their use.

use wire::Risc;

reader::labelled! {
    /// Stage of an op's pipeline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Stage {
        /// RISC that fills buffers for the math.
        Reader = "reader",
        /// Unpacker, matrix engine and packer.
        Math = "math",
        /// RISC that empties buffers after the math.
        Writer = "writer",
    }
}

/// Use of one stage: the time in which the stage does not wait for another stage, in percent of the
/// kernel time of the stage's cores.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct StageUse {
    /// Stage.
    pub stage: Stage,
    /// RISC of the stage. For the math, it is the RISC that controls the arithmetic.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// Lower bound of the use, in percent of the kernel time of the stage's cores.
    pub at_least_percent: f64,
    /// Upper bound of the use, in percent of the kernel time of the stage's cores.
    pub at_most_percent: f64,
    /// Percentage of the stage's kernel time in which it waits at NoC barriers.
    pub barrier_percent: f64,
    /// Percentage of the stage's kernel time in which it waits at semaphores that other cores
    /// signal.
    pub other_cores_percent: f64,
    /// Time in which the stage waits for another stage, in percent of the kernel time of the
    /// stage's cores. The stage's first wait does not count.
    ///
    /// In this time, the stage's work does not overlap the work of the neighbouring stages.
    #[serde(skip)]
    pub(crate) in_turn_percent: f64,
}

/// Engine of a core, in the order in which a block passes through the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Engine that moves tiles from L1 to the source registers.
    Unpacker,
    /// Engine that computes.
    Math,
    /// Engine that moves results from the destination register to L1.
    Packer,
}
