//! Execution of decoded instructions: the inner loop of a run.
//!
//! The loop stays within one line of decoded code until the pc leaves the line. An instruction that
//! must end the run stores a [`Stop`] and returns [`STOP`] as the next pc. No line contains the
//! address [`STOP`], so the loop only has to check after each instruction whether the pc has left
//! the line.

use std::hint::cold_path;
use std::marker::PhantomData;

use super::bits;
use super::bus::{
    Bus, ControlStatus, ControlStatusChange, Flow, LOCAL_RAM_BASE, Refusal, Region, Width,
};
use super::code::{CodeCache, LINE_BYTE_COUNT, Line, fetch};
use super::decode::{Code, Op, SLOT_COUNT};
use super::front::{L1Front, L1Port};
use super::hart::Counters;
use super::tally::{Observer, Target};
use super::timing::blame::Kind;
use super::timing::pipeline::{Beat, Pipeline};
use super::timing::rules::Rules;
use super::timing::{Access, Division};
use super::trap::{Pause, Trap, TrapKind};

/// Architectural state of a hart, and its decoded code.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) registers: [u32; SLOT_COUNT],
    pub(super) pc: u32,
    pub(super) port: L1Port,
    pub(super) code: CodeCache,
    pub(super) counters: Counters,
}

/// Runs a hart until its next instruction would start at or after the cycle `until`, or until an
/// instruction ends the run with a [`Stop`].
pub(super) fn run<B: Bus, R: Rules>(
    core: &mut Core,
    pipeline: &mut Pipeline,
    (bus, front): (&mut B, &mut L1Front),
    until: u64,
    mut observer: impl Observer,
) -> Result<Pause, Trap> {
    while pipeline.now() < until {
        core.code.follow(&front.watch);
        let stop = run_line::<B, R>(core, pipeline, (bus, front), until, &mut observer);
        core.pc = stop.pc;
        match stop.reason {
            Reason::Line => {}
            Reason::Undecoded => decode_more(core, bus, front)?,
            Reason::Pause(pause) => return Ok(pause),
            Reason::Trap(kind, address) => return Err(trap(kind, address, stop.pc, bus)),
        }
    }
    Ok(Pause::Cycle)
}

/// Executes instructions while the pc stays in the same line.
#[inline(always)]
fn run_line<B: Bus, R: Rules>(
    core: &mut Core,
    pipeline: &mut Pipeline,
    (bus, front): (&mut B, &mut L1Front),
    until: u64,
    observer: &mut impl Observer,
) -> Stop {
    let Core { registers, code, counters, port, .. } = core;
    let mut pc = core.pc;
    let line: &Line = match code.open(pc) {
        Ok(index) => code.line(index),
        Err(kind) => return Stop { reason: Reason::Trap(kind, pc), pc },
    };
    let base = pc - pc % LINE_BYTE_COUNT;
    observer.enter(pc);
    let outside = &mut Outside { bus, front, counters, port: *port };
    let beat = pipeline.beat;
    let first = beat.count;
    let rules = PhantomData::<R>;
    let mut engine = Engine { registers, pipeline, beat, outside, stop: None, rules, observer };
    while engine.beat.next_entry < until {
        let offset = pc.wrapping_sub(base);
        if offset >= LINE_BYTE_COUNT {
            break;
        }
        let begin = engine.beat.next_entry;
        if engine.pipeline.fetch(&mut engine.beat, pc) {
            engine.observer.fetched(pc, engine.beat.next_entry - begin);
            continue;
        }
        pc = engine.execute(line.at(offset), pc);
    }
    let count = engine.beat.count.wrapping_sub(first) as u64;
    engine.pipeline.beat = engine.beat;
    engine.outside.counters.instruction_count += count;
    let stop = engine.stop.unwrap_or(Stop { reason: Reason::Line, pc });
    observer.leave(stop.pc);
    stop
}

#[cold]
fn decode_more<B: Bus>(core: &mut Core, bus: &B, front: &mut L1Front) -> Result<(), Trap> {
    let filled = core.code.fill(core.pc, bus, &mut front.watch);
    filled.map_err(|kind| trap(kind, core.pc, core.pc, bus))
}

fn trap<B: Bus>(kind: TrapKind, address: u32, pc: u32, bus: &B) -> Trap {
    Trap { kind, pc, address, instruction: fetch(bus, pc).unwrap_or(0) }
}

/// The next pc that an instruction returns if it ends the run.
const STOP: u32 = u32::MAX;

/// Reason why execution of a line of decoded code ended, and the pc at which execution continues.
#[derive(Clone, Copy)]
struct Stop {
    reason: Reason,
    pc: u32,
}

#[derive(Clone, Copy)]
enum Reason {
    /// The pc left the line, the cycle limit was reached, or decoded code was overwritten.
    Line,
    /// The instruction at the pc has not been decoded yet.
    Undecoded,
    Pause(Pause),
    Trap(TrapKind, u32),
}

/// Access to mapped registers. It is separate from [`Engine`], because passing the engine to a
/// function that is not inlined would force the engine's state from host registers into memory.
struct Outside<'e, B> {
    bus: &'e mut B,
    front: &'e mut L1Front,
    counters: &'e mut Counters,
    port: L1Port,
}

impl<B: Bus> Outside<'_, B> {
    fn access(&self, address: u32, width: Width) -> Option<Access> {
        let region = self.bus.region(address)?;
        Some(Access { address, width, region })
    }

    #[inline(never)]
    fn load<R: Rules>(
        &mut self,
        pipeline: &mut Pipeline,
        beat: &mut Beat,
        op: &Op,
        (address, width): (u32, Width),
    ) -> Result<u32, Reason> {
        let access =
            self.access(address, width).ok_or(Reason::Trap(TrapKind::LoadOutside, address))?;
        let slot = pipeline.plan_load::<R>(beat, op, access);
        let value = self.bus.mmio_load(address, width, slot.access).map_err(|refusal| {
            reason(refusal, address, TrapKind::LoadOutside, TrapKind::LoadUnsupported)
        })?;
        self.counters.mmio_load_count += 1;
        pipeline.commit_load::<R>(beat, op, (access, slot), self.front.port(self.port));
        Ok(value)
    }

    #[inline(never)]
    fn store<R: Rules>(
        &mut self,
        pipeline: &mut Pipeline,
        beat: &mut Beat,
        op: &Op,
        (address, width, value): (u32, Width, u32),
    ) -> Result<Flow, Reason> {
        let access =
            self.access(address, width).ok_or(Reason::Trap(TrapKind::StoreOutside, address))?;
        let port = self.front.port(self.port);
        let slot = pipeline.plan_store::<R>(beat, op, access, port);
        let value = value & (u32::MAX >> (32 - 8 * width.byte_count()));
        let flow = self.bus.mmio_store(address, width, value, slot.access).map_err(|refusal| {
            reason(refusal, address, TrapKind::StoreOutside, TrapKind::StoreUnsupported)
        })?;
        self.counters.mmio_store_count += 1;
        pipeline.commit_store::<R>(beat, op, (access, slot), port);
        Ok(flow)
    }

    #[inline(never)]
    fn control_status(&mut self, word: u32, register: u32, cycle: u64) -> Result<u32, Refusal> {
        let field = word >> 15 & 0x1F;
        let operand = if word >> 14 & 1 == 0 { register } else { field };
        let change = match word >> 12 & 3 {
            1 => ControlStatusChange::Write,
            _ if field == 0 => ControlStatusChange::Nothing,
            2 => ControlStatusChange::Set,
            _ => ControlStatusChange::Clear,
        };
        let access = ControlStatus { number: word >> 20, change, operand };
        self.bus.control_status(access, cycle)
    }

    #[inline(never)]
    fn push_tensix<R: Rules>(
        &mut self,
        pipeline: &mut Pipeline,
        beat: &mut Beat,
        op: &Op,
        pc: u32,
    ) -> Result<Flow, Reason> {
        if self.bus.region(PUSH_TENSIX).is_none() {
            return Err(Reason::Trap(TrapKind::IllegalInstruction, pc));
        }
        self.store::<R>(pipeline, beat, op, (PUSH_TENSIX, Width::Word, op.immediate))
    }
}

/// Returns the result of a bit-manipulation instruction. This is not inlined, to keep the run loop
/// short.
#[inline(never)]
fn manipulated_bits(operation: u32, a: u32, b: u32) -> u32 {
    bits::result(operation, a, b).unwrap_or(0)
}

fn reason(refusal: Refusal, address: u32, outside: TrapKind, unsupported: TrapKind) -> Reason {
    match refusal {
        Refusal::Busy => Reason::Pause(Pause::Blocked { address }),
        Refusal::Unmapped => Reason::Trap(outside, address),
        Refusal::Unsupported => Reason::Trap(unsupported, address),
    }
}

/// State that an instruction may access while it executes.
///
/// All methods are inlined into the run loop, so that `beat` and `stop` stay in registers of the
/// host's processor.
struct Engine<'e, 'o, B, R, O> {
    registers: &'e mut [u32; SLOT_COUNT],
    pipeline: &'e mut Pipeline,
    beat: Beat,
    outside: &'e mut Outside<'o, B>,
    stop: Option<Stop>,
    rules: PhantomData<R>,
    observer: &'e mut O,
}

impl<B: Bus, R: Rules, O: Observer> Engine<'_, '_, B, R, O> {
    /// Executes one instruction; returns the next pc, or [`STOP`].
    #[inline(always)]
    fn execute(&mut self, op: &Op, pc: u32) -> u32 {
        let (a, b) = (self.register(op.rs1), self.register(op.rs2));
        let i = op.immediate;
        match op.code {
            Code::Constant => self.write(op, pc, i),
            Code::AddImmediate => self.write(op, pc, a.wrapping_add(i)),
            Code::SetLessImmediate => self.write(op, pc, is_less(a, i)),
            Code::SetLessUnsignedImmediate => self.write(op, pc, u32::from(a < i)),
            Code::XorImmediate => self.write(op, pc, a ^ i),
            Code::OrImmediate => self.write(op, pc, a | i),
            Code::AndImmediate => self.write(op, pc, a & i),
            Code::ShiftLeftImmediate => self.write(op, pc, a << (i & 31)),
            Code::ShiftRightImmediate => self.write(op, pc, a >> (i & 31)),
            Code::ShiftArithmeticImmediate => self.write(op, pc, shift_signed(a, i)),
            Code::Add => self.write(op, pc, a.wrapping_add(b)),
            Code::Subtract => self.write(op, pc, a.wrapping_sub(b)),
            Code::ShiftLeft => self.write(op, pc, a << (b & 31)),
            Code::SetLess => self.write(op, pc, is_less(a, b)),
            Code::SetLessUnsigned => self.write(op, pc, u32::from(a < b)),
            Code::Xor => self.write(op, pc, a ^ b),
            Code::ShiftRight => self.write(op, pc, a >> (b & 31)),
            Code::ShiftArithmetic => self.write(op, pc, shift_signed(a, b)),
            Code::Or => self.write(op, pc, a | b),
            Code::And => self.write(op, pc, a & b),
            Code::Multiply => self.multiply(op, pc, a.wrapping_mul(b)),
            Code::MultiplyHigh => self.multiply(op, pc, high(signed(a) * signed(b))),
            Code::MultiplyHighSignedUnsigned => {
                self.multiply(op, pc, high(signed(a) * i64::from(b)))
            }
            Code::MultiplyHighUnsigned => self.multiply(op, pc, high_unsigned(a, b)),
            Code::Divide => self.divide(op, pc, true, divide(a, b)),
            Code::DivideUnsigned => {
                self.divide(op, pc, false, a.checked_div(b).unwrap_or(u32::MAX))
            }
            Code::Remainder => self.divide(op, pc, true, remainder(a, b)),
            Code::RemainderUnsigned => self.divide(op, pc, false, a.checked_rem(b).unwrap_or(a)),
            Code::LoadByte => self.load(op, pc, |bytes| extend(i8::from_le_bytes(bytes).into())),
            Code::LoadHalf => self.load(op, pc, |bytes| extend(i16::from_le_bytes(bytes).into())),
            Code::LoadWord => self.load(op, pc, u32::from_le_bytes),
            Code::LoadByteUnsigned => self.load(op, pc, |bytes: [u8; 1]| bytes[0].into()),
            Code::LoadHalfUnsigned => self.load(op, pc, |bytes| u16::from_le_bytes(bytes).into()),
            Code::StoreByte => self.store::<1>(op, pc),
            Code::StoreHalf => self.store::<2>(op, pc),
            Code::StoreWord => self.store::<4>(op, pc),
            Code::BranchEqual => self.branch(op, pc, a == b),
            Code::BranchNotEqual => self.branch(op, pc, a != b),
            Code::BranchLess => self.branch(op, pc, is_less(a, b) != 0),
            Code::BranchNotLess => self.branch(op, pc, is_less(a, b) == 0),
            Code::BranchLessUnsigned => self.branch(op, pc, a < b),
            Code::BranchNotLessUnsigned => self.branch(op, pc, a >= b),
            Code::Jump => self.jump(op, pc),
            Code::JumpRegister => self.jump_register(op, pc, a.wrapping_add(i) & !1),
            Code::Fence => self.write(op, pc, 0),
            Code::ControlStatus => self.control_status(op, pc, a),
            Code::PushTensix => self.push_tensix(op, pc),
            Code::Bits => self.write(op, pc, manipulated_bits(i, a, b)),
            Code::EnvironmentCall => self.end(pc, Reason::Pause(Pause::EnvironmentCall)),
            Code::Breakpoint => self.end(pc, Reason::Pause(Pause::Breakpoint)),
            Code::Undecoded => self.end(pc, Reason::Undecoded),
            Code::Illegal => self.end(pc, Reason::Trap(TrapKind::IllegalInstruction, pc)),
        }
    }

    #[inline(always)]
    fn register(&self, slot: u8) -> u32 {
        self.registers[usize::from(slot)]
    }

    #[inline(always)]
    fn put(&mut self, op: &Op, value: u32) {
        self.registers[usize::from(op.rd)] = value;
    }

    #[inline(always)]
    fn write(&mut self, op: &Op, pc: u32, value: u32) -> u32 {
        let start = self.before(op, Kind::Arithmetic);
        self.pipeline.arithmetic::<R>(&mut self.beat, op);
        self.note(start, Kind::Arithmetic, (op, pc));
        self.put(op, value);
        pc.wrapping_add(4)
    }

    #[inline(always)]
    fn multiply(&mut self, op: &Op, pc: u32, value: u32) -> u32 {
        let start = self.before(op, Kind::Multiply);
        self.pipeline.multiply::<R>(&mut self.beat, op);
        self.note(start, Kind::Multiply, (op, pc));
        self.put(op, value);
        pc.wrapping_add(4)
    }

    #[inline(always)]
    fn divide(&mut self, op: &Op, pc: u32, is_signed: bool, value: u32) -> u32 {
        let (dividend, divisor) = (self.register(op.rs1), self.register(op.rs2));
        let start = self.before(op, Kind::Divide);
        self.pipeline.divide::<R>(&mut self.beat, op, Division { dividend, divisor, is_signed });
        self.note(start, Kind::Divide, (op, pc));
        self.put(op, value);
        pc.wrapping_add(4)
    }

    #[inline(always)]
    fn branch(&mut self, op: &Op, pc: u32, is_taken: bool) -> u32 {
        if is_taken && !op.immediate.is_multiple_of(4) {
            return self.misaligned_jump(pc, op.immediate);
        }
        let next = if is_taken { op.immediate } else { pc.wrapping_add(4) };
        let start = self.before(op, Kind::Branch);
        self.pipeline.branch::<R>(&mut self.beat, op, pc, is_taken);
        self.note_access(start, Kind::Branch, (op, pc), next);
        next
    }

    #[inline(always)]
    fn jump(&mut self, op: &Op, pc: u32) -> u32 {
        if !op.immediate.is_multiple_of(4) {
            return self.misaligned_jump(pc, op.immediate);
        }
        let start = self.before(op, Kind::Jump);
        self.pipeline.jump::<R>(&mut self.beat, op, pc, op.immediate);
        self.note_access(start, Kind::Jump, (op, pc), op.immediate);
        self.put(op, pc.wrapping_add(4));
        op.immediate
    }

    #[inline(always)]
    fn jump_register(&mut self, op: &Op, pc: u32, target: u32) -> u32 {
        if !target.is_multiple_of(4) {
            return self.misaligned_jump(pc, target);
        }
        let start = self.before(op, Kind::Branch);
        self.pipeline.jump::<R>(&mut self.beat, op, pc, target);
        self.note_access(start, Kind::Branch, (op, pc), target);
        self.put(op, pc.wrapping_add(4));
        target
    }

    #[inline(always)]
    fn load<const N: usize>(
        &mut self,
        op: &Op,
        pc: u32,
        widen: impl FnOnce([u8; N]) -> u32,
    ) -> u32 {
        let address = self.register(op.rs1).wrapping_add(op.immediate);
        if !address.is_multiple_of(byte_count::<N>()) {
            return self.end(pc, Reason::Trap(TrapKind::LoadMisaligned, address));
        }
        let bus = &*self.outside.bus;
        let (bytes, region) = if let Some(bytes) = bytes_at(bus.local_ram(), local(address)) {
            (bytes, Region::LocalRam)
        } else if let Some(bytes) = bytes_at(bus.l1(), address as usize) {
            (bytes, Region::L1)
        } else {
            return self.load_mapped(op, pc, address, widen);
        };
        let access = Access { address, width: width::<N>(), region };
        let kind = match region {
            Region::L1 => Kind::LoadL1,
            _ => Kind::LoadPrivate,
        };
        let start = self.before(op, kind);
        let slot = self.pipeline.plan_load::<R>(&self.beat, op, access);
        let port = self.outside.front.port(self.outside.port);
        self.pipeline.commit_load::<R>(&mut self.beat, op, (access, slot), port);
        self.note_access(start, kind, (op, pc), address);
        if region == Region::L1 {
            self.outside.bus.after_l1_load(address, slot.issue);
        }
        self.put(op, widen(bytes));
        pc.wrapping_add(4)
    }

    #[inline(always)]
    fn load_mapped<const N: usize>(
        &mut self,
        op: &Op,
        pc: u32,
        address: u32,
        widen: impl FnOnce([u8; N]) -> u32,
    ) -> u32 {
        let start = self.before(op, Kind::LoadRegister);
        let mut beat = self.beat;
        let result = self.outside.load::<R>(self.pipeline, &mut beat, op, (address, width::<N>()));
        self.beat = beat;
        match result {
            Ok(value) => {
                self.note_mapped_load(start, (op, pc), address);
                self.put(op, widen(low_bytes(value)));
                pc.wrapping_add(4)
            }
            Err(reason) => self.end(pc, reason),
        }
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, op: &Op, pc: u32) -> u32 {
        let address = self.register(op.rs1).wrapping_add(op.immediate);
        if !address.is_multiple_of(byte_count::<N>()) {
            return self.end(pc, Reason::Trap(TrapKind::StoreMisaligned, address));
        }
        let bytes: [u8; N] = low_bytes(self.register(op.rs2));
        let bus = &mut *self.outside.bus;
        let region = if let Some(place) = place_at(bus.local_ram_mut(), local(address)) {
            *place = bytes;
            Region::LocalRam
        } else if bytes_at::<N>(bus.l1(), address as usize).is_some() {
            let (value, now) = (u32::from_le_bytes(padded(bytes)), self.beat.next_entry);
            if let Err(refusal) = bus.before_l1_store(address, value, now) {
                let reason =
                    reason(refusal, address, TrapKind::StoreOutside, TrapKind::StoreUnsupported);
                return self.end(pc, reason);
            }
            if let Some(place) = place_at(bus.l1_mut(), address as usize) {
                *place = bytes;
            }
            Region::L1
        } else {
            return self.store_mapped(op, pc, address, width::<N>());
        };
        let access = Access { address, width: width::<N>(), region };
        let start = self.before(op, Kind::Store);
        let port = self.outside.front.port(self.outside.port);
        let slot = self.pipeline.plan_store::<R>(&self.beat, op, access, port);
        self.pipeline.commit_store::<R>(&mut self.beat, op, (access, slot), port);
        self.note_access(start, Kind::Store, (op, pc), address);
        let front = &mut *self.outside.front;
        let next = pc.wrapping_add(4);
        if region == Region::L1 && front.watch.stored(address) {
            return self.end(next, Reason::Line);
        }
        next
    }

    #[inline(always)]
    fn store_mapped(&mut self, op: &Op, pc: u32, address: u32, width: Width) -> u32 {
        let value = self.register(op.rs2);
        let start = self.before(op, Kind::Store);
        let mut beat = self.beat;
        let result = self.outside.store::<R>(self.pipeline, &mut beat, op, (address, width, value));
        self.beat = beat;
        if result.is_ok() {
            self.note_access(start, Kind::Store, (op, pc), address);
        }
        let next = pc.wrapping_add(4);
        match result {
            Ok(Flow::Continue) => next,
            Ok(Flow::Yield) => self.end(next, Reason::Pause(Pause::Yielded)),
            Err(reason) => self.end(pc, reason),
        }
    }

    #[inline(always)]
    fn control_status(&mut self, op: &Op, pc: u32, register: u32) -> u32 {
        let now = self.beat.next_entry;
        match self.outside.control_status(op.immediate, register, now) {
            Ok(value) => self.write(op, pc, value),
            Err(_) => self.end(pc, Reason::Trap(TrapKind::IllegalInstruction, pc)),
        }
    }

    #[inline(always)]
    fn push_tensix(&mut self, op: &Op, pc: u32) -> u32 {
        let start = self.before(op, Kind::Store);
        let mut beat = self.beat;
        let result = self.outside.push_tensix::<R>(self.pipeline, &mut beat, op, pc);
        self.beat = beat;
        if result.is_ok() {
            self.note_access(start, Kind::Store, (op, pc), PUSH_TENSIX);
        }
        match result {
            Ok(_) => pc.wrapping_add(4),
            Err(reason) => self.end(pc, reason),
        }
    }

    /// Looks at the timing of an instruction before it is executed.
    #[inline(always)]
    fn before(&mut self, op: &Op, kind: Kind) -> O::Start {
        self.observer.before::<R>((&*self.pipeline, &self.beat), (op, kind))
    }

    /// Counts an instruction that has been executed.
    #[inline(always)]
    fn note(&mut self, start: O::Start, kind: Kind, (op, pc): (&Op, u32)) {
        let machine = (&*self.pipeline, &self.beat);
        self.observer.after::<R>(start, machine, Target { kind, op, pc, address: 0 });
    }

    /// Does the same for a load, store, branch or jump.
    #[inline(always)]
    fn note_access(&mut self, start: O::Start, kind: Kind, (op, pc): (&Op, u32), address: u32) {
        let machine = (&*self.pipeline, &self.beat);
        self.observer.after::<R>(start, machine, Target { kind, op, pc, address });
    }

    /// Does the same for a load of a mapped register, or of L1 beyond the part that the simulator
    /// has allocated.
    #[inline(always)]
    fn note_mapped_load(&mut self, start: O::Start, place: (&Op, u32), address: u32) {
        let is_l1 = O::IS_ON && self.outside.bus.region(address) == Some(Region::L1);
        let kind = if is_l1 { Kind::LoadL1 } else { Kind::LoadRegister };
        self.note_access(start, kind, place, address);
    }

    #[inline(always)]
    fn misaligned_jump(&mut self, pc: u32, target: u32) -> u32 {
        self.end(pc, Reason::Trap(TrapKind::FetchMisaligned, target))
    }

    #[inline(always)]
    fn end(&mut self, pc: u32, reason: Reason) -> u32 {
        cold_path();
        self.stop = Some(Stop { reason, pc });
        STOP
    }
}

/// Address at which a RISC pushes Tensix instructions.
const PUSH_TENSIX: u32 = 0xFFE4_0000;

#[inline(always)]
fn local(address: u32) -> usize {
    address.wrapping_sub(LOCAL_RAM_BASE) as usize
}

#[inline(always)]
fn bytes_at<const N: usize>(memory: &[u8], offset: usize) -> Option<[u8; N]> {
    memory.get(offset..)?.first_chunk().copied()
}

#[inline(always)]
fn low_bytes<const N: usize>(value: u32) -> [u8; N] {
    value.to_le_bytes().first_chunk().copied().unwrap_or([0; N])
}

#[inline(always)]
fn padded<const N: usize>(bytes: [u8; N]) -> [u8; 4] {
    let mut padded = [0; 4];
    padded[..N].copy_from_slice(&bytes);
    padded
}

#[inline(always)]
fn place_at<const N: usize>(memory: &mut [u8], offset: usize) -> Option<&mut [u8; N]> {
    memory.get_mut(offset..)?.first_chunk_mut()
}

#[inline(always)]
const fn width<const N: usize>() -> Width {
    match N {
        1 => Width::Byte,
        2 => Width::Half,
        _ => Width::Word,
    }
}

#[inline(always)]
const fn byte_count<const N: usize>() -> u32 {
    width::<N>().byte_count()
}

#[inline(always)]
fn is_less(a: u32, b: u32) -> u32 {
    u32::from(a.cast_signed() < b.cast_signed())
}

#[inline(always)]
fn shift_signed(a: u32, b: u32) -> u32 {
    (a.cast_signed() >> (b & 31)).cast_unsigned()
}

#[inline(always)]
fn extend(value: i32) -> u32 {
    value.cast_unsigned()
}

#[inline(always)]
fn signed(a: u32) -> i64 {
    i64::from(a.cast_signed())
}

/// Returns bits 63:32 of a product.
#[inline(always)]
fn high(product: i64) -> u32 {
    (product.cast_unsigned() >> 32) as u32
}

#[inline(always)]
fn high_unsigned(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// Returns the signed quotient as in the M extension: -1 for a division by zero, the dividend on
/// overflow.
#[inline(always)]
fn divide(a: u32, b: u32) -> u32 {
    match b {
        0 => u32::MAX,
        _ => a.cast_signed().wrapping_div(b.cast_signed()).cast_unsigned(),
    }
}

/// Returns the signed remainder as in the M extension: the dividend for a division by zero, 0 on
/// overflow.
#[inline(always)]
fn remainder(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => a.cast_signed().wrapping_rem(b.cast_signed()).cast_unsigned(),
    }
}
