//! Scripted kernels: kernels that execute a list of steps.
//!
//! A script makes its records through the profiler's macros, but the number of expected records is
//! computed without these macros. Tests therefore compare the records that the host reads from
//! random scripts with the expected number. One kernel runs all scripts: `kernel::script_body`,
//! which also documents how scripts are encoded as words.

use crate::{
    kernel::{
        events_of_transfer,
        script_body::{HAS_ADDRESSES, IS_POSTED, IS_WRITE, opcode},
    },
    program::{Emission, Kernel, KernelContext},
    random::Stream,
};
use std::{borrow::Cow, sync::Arc};
use wire::scoped_lock::{LockEvent, LockEventKind};

/// One action of a scripted kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opens one of the zones `SCRIPT-0` to `SCRIPT-7`.
    Open(u8),
    /// Closes the most recently opened zone.
    Close,
    /// Records a value under one of the names `SCRIPT-DATA-0` to `SCRIPT-DATA-3`; the first field
    /// is the number in the name.
    Data(u8, u64),
    /// Records 16 bytes of data.
    Data16(u64, u64),
    /// Records an event.
    Event(u16),
    /// Spends cycles in a sum zone, which adds them to the given accumulator.
    Sum(Accumulator, u32),
    /// Spends cycles.
    Spin(u32),
    /// Writes the records made so far to DRAM. The zone that the runtime records around this write
    /// does not count as a record of the kernel.
    QuickPush,
    /// Transfers bytes over the NoC and records the transfer. Does nothing on a RISC that uses no
    /// NoC.
    Transfer(Movement),
    /// Like `Transfer`, with addresses in the record.
    TransferWithAddresses(Movement),
    /// Records a lock event. Does nothing on a RISC that uses no NoC.
    Lock(LockEvent),
}

/// A transfer over the NoC in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// Reads bytes, at most [`MOVED_BYTES_MAX`]. The first field is the source: 0 for the RISC's
    /// own tile, other values for a DRAM bank.
    Read(u8, u16),
    /// Writes bytes to the RISC's own tile; the second field is true for a posted write.
    Write(u16, bool),
}

impl Movement {
    const fn byte_count(self) -> u16 {
        match self {
            Self::Read(_, byte_count) | Self::Write(byte_count, _) => byte_count,
        }
    }

    /// Appends the encoded transfer to `words`, with the additional flags `more`.
    fn write(self, more: u32, words: &mut Vec<u32>) {
        let (form, target) = match self {
            Self::Read(target, _) => (0, u32::from(target)),
            Self::Write(_, is_posted) => (IS_WRITE | if is_posted { IS_POSTED } else { 0 }, 0),
        };
        words.push(opcode::TRANSFER | (form | more) << 8 | target << 16);
        words.push(self.byte_count().into());
    }
}

/// Maximum number of bytes in a transfer.
pub const MOVED_BYTES_MAX: u16 = 8192;

/// One of the two accumulators of a RISC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accumulator {
    /// The first accumulator, for the zone `SCRIPT-SUM-1`.
    One,
    /// The second accumulator, for the zone `SCRIPT-SUM-2`.
    Two,
}

/// Reason why a list of steps is not a valid script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A step closes a zone although none is open.
    #[error("step {step_index} closes a zone, but none is open")]
    NothingToClose {
        /// Index of the step.
        step_index: usize,
    },
    /// A step transfers no bytes, or more bytes than one NoC request can transfer.
    #[error("step {step_index} moves {byte_count} bytes, expected 1 to {MOVED_BYTES_MAX}")]
    NoTransfer {
        /// Index of the step.
        step_index: usize,
        /// Number of bytes to transfer.
        byte_count: u16,
    },
    /// A step names a zone or value with a number that is too large.
    #[error("step {step_index} names site {site}, but there are only {site_count}")]
    NoSuchSite {
        /// Index of the step.
        step_index: usize,
        /// The number in the step.
        site: u8,
        /// Number of zones or data names that scripts can use.
        site_count: u8,
    },
    /// A step opens a zone while [`DEPTH_MAX`] zones are already open. A RISC's stack has no room
    /// for more.
    #[error("step {step_index} opens a zone in {DEPTH_MAX} others, which is the most")]
    TooDeep {
        /// Index of the step.
        step_index: usize,
    },
}

/// Number of different zones that scripts can open.
pub const ZONE_SITE_COUNT: u8 = 8;
/// Number of different names under which scripts can record data.
pub const DATA_SITE_COUNT: u8 = 4;

/// Maximum number of zones that a script can have open at once. Each open zone takes 64 bytes of
/// the stack, which has 1808 bytes on a Wormhole's TRISC.
pub const DEPTH_MAX: usize = 16;

/// A kernel that executes a list of steps. Zones still open after the last step are closed.
///
/// ```
/// use sim::kernel::script::{Script, Step};
/// let script = Script::new(vec![Step::Open(0), Step::Spin(50), Step::Event(7), Step::Close])?;
/// assert_eq!((script.count(false).zones, script.count(false).events), (1, 1));
/// # Ok::<(), sim::kernel::script::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    steps: Vec<Step>,
    words: Arc<[u32]>,
}

/// Parameters of a random script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptShape {
    /// Maximum number of steps.
    pub step_max: u64,
    /// Maximum number of zones open at once.
    pub depth_max: u64,
    /// True if the script may contain pushes of records to DRAM, NoC transfers and lock events.
    pub has_pushes: bool,
}

impl Script {
    /// Creates a script of these steps.
    ///
    /// # Errors
    /// If a step closes a zone while no zone is open, names a zone or value that does not exist,
    /// transfers too many or no bytes, or nests zones deeper than [`DEPTH_MAX`].
    pub fn new(steps: Vec<Step>) -> Result<Self, ScriptError> {
        let mut depth = 0_usize;
        for (step_index, step) in steps.iter().enumerate() {
            let (site, site_count) = match *step {
                Step::Open(site) => (site, ZONE_SITE_COUNT),
                Step::Data(site, _) => (site, DATA_SITE_COUNT),
                _ => (0, 1),
            };
            if site >= site_count {
                return Err(ScriptError::NoSuchSite { step_index, site, site_count });
            }
            match step {
                Step::Transfer(movement) | Step::TransferWithAddresses(movement)
                    if !(1..=MOVED_BYTES_MAX).contains(&movement.byte_count()) =>
                {
                    let byte_count = movement.byte_count();
                    return Err(ScriptError::NoTransfer { step_index, byte_count });
                }
                Step::Open(_) if depth == DEPTH_MAX => {
                    return Err(ScriptError::TooDeep { step_index });
                }
                Step::Open(_) => depth += 1,
                Step::Close if depth == 0 => {
                    return Err(ScriptError::NothingToClose { step_index });
                }
                Step::Close => depth -= 1,
                _ => {}
            }
        }
        Ok(Self::from_checked(steps))
    }

    /// Creates a random script with zones nested no deeper than [`DEPTH_MAX`].
    #[must_use]
    pub fn random(random: &mut Stream, shape: &ScriptShape) -> Self {
        let mut depth = 0;
        let count = random.below(shape.step_max + 1);
        let steps = (0..count).map(|_| random_step(random, &mut depth, shape)).collect();
        Self::from_checked(steps)
    }

    fn from_checked(steps: Vec<Step>) -> Self {
        let mut words: Vec<u32> = Vec::new();
        steps.iter().for_each(|step| step.write(&mut words));
        words.push(opcode::END);
        Self { steps, words: words.into() }
    }

    /// Returns the steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the number of transfers that the script records on a RISC with a NoC of its own.
    #[must_use]
    pub fn transfer_count(&self) -> usize {
        let is_transfer =
            |step: &&Step| matches!(step, Step::Transfer(_) | Step::TransferWithAddresses(_));
        self.steps.iter().filter(is_transfer).count()
    }

    /// Returns the lock events that the script records on a RISC with a NoC of its own, in order.
    #[must_use]
    pub fn locks(&self) -> Vec<LockEvent> {
        let lock = |step: &Step| match step {
            Step::Lock(event) => Some(*event),
            _ => None,
        };
        self.steps.iter().filter_map(lock).collect()
    }

    /// Returns how many records the script makes if its buffers have room. NoC and lock events are
    /// not counted.
    #[must_use]
    pub fn count(&self, sums_enabled: bool) -> Emission {
        let mut emission = Emission::NONE;
        let mut accumulators = std::collections::BTreeSet::new();
        for step in &self.steps {
            match step {
                Step::Open(_) => emission.zones += 1,
                Step::Data(..) | Step::Data16(..) => emission.data += 1,
                Step::Event(_) => emission.events += 1,
                Step::Sum(accumulator, _) => {
                    accumulators.insert(*accumulator);
                }
                Step::Close
                | Step::Spin(_)
                | Step::QuickPush
                | Step::Transfer(_)
                | Step::TransferWithAddresses(_)
                | Step::Lock(_) => {}
            }
        }
        emission.sums = if sums_enabled { accumulators.len() as u64 } else { 0 };
        emission
    }
}

impl Step {
    /// Encodes the step as words for the kernel.
    fn write(self, words: &mut Vec<u32>) {
        let halves = |value: u64| [(value & 0xFFFF_FFFF) as u32, (value >> 32) as u32];
        match self {
            Self::Open(site) => words.push(opcode::OPEN | u32::from(site) << 8),
            Self::Close => words.push(opcode::CLOSE),
            Self::Data(site, value) => {
                words.push(opcode::DATA | u32::from(site) << 8);
                words.extend(halves(value));
            }
            Self::Data16(first, second) => {
                words.push(opcode::DATA_16B);
                words.extend([first, second].map(halves).as_flattened());
            }
            Self::Event(event) => words.push(opcode::EVENT | u32::from(event) << 8),
            Self::Sum(Accumulator::One, cycles) => words.extend([opcode::SUM_1, cycles]),
            Self::Sum(Accumulator::Two, cycles) => words.extend([opcode::SUM_2, cycles]),
            Self::Spin(cycles) => words.extend([opcode::SPIN, cycles]),
            Self::QuickPush => words.push(opcode::QUICK_PUSH),
            Self::Transfer(movement) => movement.write(0, words),
            Self::TransferWithAddresses(movement) => movement.write(HAS_ADDRESSES, words),
            Self::Lock(LockEvent { kind, address, byte_count }) => {
                words.extend([opcode::LOCK | (kind as u32) << 8, address, byte_count]);
            }
        }
    }
}

impl Kernel for Script {
    fn emission(&self, context: &KernelContext) -> Emission {
        let mut emission = self.count(context.sums_enabled);
        if context.noc().is_some() {
            emission.data += events_of_transfer(context) * self.transfer_count() as u64;
            emission.data += self.locks().len() as u64;
        }
        emission
    }

    fn object_name(&self) -> Option<&str> {
        Some("script")
    }

    fn object_data(&self, _: &KernelContext) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.words)
    }
}

fn random_step(random: &mut Stream, depth: &mut u64, shape: &ScriptShape) -> Step {
    let small = |random: &mut Stream, bound| u8::try_from(random.below(bound)).unwrap_or(0);
    let cycles = |random: &mut Stream| u32::try_from(random.below(400)).unwrap_or(0);
    match random.below(20) {
        0..7 if *depth < shape.depth_max.min(DEPTH_MAX as u64) => {
            *depth += 1;
            Step::Open(small(random, u64::from(ZONE_SITE_COUNT)))
        }
        0..12 if *depth > 0 => {
            *depth -= 1;
            Step::Close
        }
        12 | 13 => Step::Data(small(random, u64::from(DATA_SITE_COUNT)), random.next_u64()),
        14 => Step::Data16(random.next_u64(), random.next_u64()),
        15 => Step::Event(u16::try_from(random.below(1 << 16)).unwrap_or(0)),
        16 if shape.has_pushes && random.chance(500_000) => match random.below(4) {
            0 => Step::Lock(lock(random)),
            1 => Step::TransferWithAddresses(movement(random)),
            _ => Step::Transfer(movement(random)),
        },
        16 => Step::Event(u16::try_from(random.below(1 << 16)).unwrap_or(0)),
        17 => Step::Sum(Accumulator::One, cycles(random)),
        18 => Step::Sum(Accumulator::Two, cycles(random)),
        19 if shape.has_pushes && random.chance(200_000) => Step::QuickPush,
        _ => Step::Spin(cycles(random)),
    }
}

fn lock(random: &mut Stream) -> LockEvent {
    let index = usize::try_from(random.below(LockEventKind::ALL.len() as u64)).unwrap_or(0);
    // The values sometimes exceed the fields of the record.
    let mut value = || u32::try_from(random.below(1 << 25)).unwrap_or(0);
    LockEvent { kind: LockEventKind::ALL[index], address: value(), byte_count: value() }
}

fn movement(random: &mut Stream) -> Movement {
    let byte_count = u16::try_from(random.between(1, MOVED_BYTES_MAX.into())).unwrap_or(1);
    match random.below(4) {
        0 => Movement::Write(byte_count, false),
        1 => Movement::Write(byte_count, true),
        _ => Movement::Read(u8::try_from(random.below(9)).unwrap_or(0), byte_count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_cannot_be_run_are_refused() {
        let error = Script::new(vec![Step::Open(0), Step::Close, Step::Close]);
        assert_eq!(error, Err(ScriptError::NothingToClose { step_index: 2 }));
        let error = Script::new(vec![Step::Spin(1), Step::Open(8)]);
        let site = ScriptError::NoSuchSite { step_index: 1, site: 8, site_count: 8 };
        assert_eq!(error, Err(site));
        let error = Script::new(vec![Step::Open(0); 17]);
        assert_eq!(error, Err(ScriptError::TooDeep { step_index: 16 }));
        for byte_count in [0, 8193] {
            let error = Script::new(vec![Step::Transfer(Movement::Read(0, byte_count))]);
            assert_eq!(error, Err(ScriptError::NoTransfer { step_index: 0, byte_count }));
        }
    }

    #[test]
    fn random_scripts_are_scripts_and_use_every_step() {
        let mut random = Stream::new(1, &[]);
        let shape = ScriptShape { step_max: 200, depth_max: 10, has_pushes: true };
        let mut kinds = std::collections::BTreeSet::new();
        for _ in 0..50 {
            let script = Script::random(&mut random, &shape);
            assert_eq!(Script::new(script.steps.clone()), Ok(script.clone()));
            let names = script.steps.iter().map(|step| format!("{step:?}"));
            kinds.extend(names.map(|name| name.split('(').next().unwrap_or("").to_owned()));
        }
        assert_eq!(kinds.len(), 11, "{kinds:?}");
    }

    #[test]
    fn an_accumulator_counts_once_and_only_where_sums_are_recorded() {
        let steps = vec![
            Step::Sum(Accumulator::One, 1),
            Step::Sum(Accumulator::One, 2),
            Step::Data16(1, 2),
        ];
        let script = Script::new(steps).unwrap();
        assert_eq!(script.count(true), Emission { sums: 1, data: 1, ..Emission::NONE });
        assert_eq!(script.count(false), Emission { data: 1, ..Emission::NONE });
    }
}
