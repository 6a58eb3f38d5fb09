//! Tests of native kernels: the macros act on the RISC that the thread has entered.
#![cfg(feature = "hosted")]

use kernel_profiler::{
    device_record_event, device_timestamped_data, device_timestamped_data_16b,
    device_validate_profiler, device_zone_scoped, device_zone_scoped_if, device_zone_scoped_main,
    device_zone_scoped_main_child, device_zone_scoped_sum1, device_zone_scoped_sum2,
    device_zone_set_counter,
    hosted::{HostedRisc, enter, registered_zones, stray_probe_count},
    port::{Clock, ClockWords, Memory, Noc, Port, Pushes, word_at},
    src_loc_name_to_hash,
};
use std::{cell::RefCell, rc::Rc};
use wire::{Header, PacketKind, ZoneId};

struct Core {
    control: [u32; 64],
    vectors: [[u32; 512]; 5],
    dram: Vec<u32>,
    clock: u32,
}

struct Lone(Rc<RefCell<Core>>);

impl Clock for Lone {
    fn now(&mut self) -> ClockWords {
        let mut core = self.0.borrow_mut();
        core.clock += 1;
        ClockWords { high: 2, low: core.clock }
    }
}

impl Memory for Lone {
    fn load(&mut self, place: u32) -> u32 {
        let core = self.0.borrow();
        match word_at(place) {
            (None, index) => core.control[index],
            (Some(risc_index), index) => core.vectors[risc_index][index],
        }
    }

    fn store(&mut self, place: u32, value: u32) {
        let mut core = self.0.borrow_mut();
        match word_at(place) {
            (None, index) => core.control[index] = value,
            (Some(risc_index), index) => core.vectors[risc_index][index] = value,
        }
    }
}

impl Noc for Lone {
    fn is_linked(&mut self) -> bool {
        false
    }

    fn begin_pushes(&mut self, bank: u32) -> Pushes {
        Pushes(bank)
    }

    fn push(&mut self, _: Pushes, place: u32, word_count: u32, _address: u32) -> bool {
        let mut core = self.0.borrow_mut();
        let (Some(risc_index), 0) = word_at(place) else { return false };
        let words = core.vectors[risc_index][..word_count as usize].to_vec();
        core.dram.extend(words);
        true
    }

    fn wait_for_pushes(&mut self, _: Pushes) -> bool {
        true
    }
}

impl Port for Lone {
    fn risc_index(&self) -> usize {
        0
    }

    fn risc_count(&self) -> usize {
        1
    }

    fn sums_enabled(&self) -> bool {
        true
    }
}

fn core() -> Rc<RefCell<Core>> {
    let mut control = [0; 64];
    (control[50], control[55]) = (0x1000, 1);
    let vectors = [[0; 512]; 5];
    Rc::new(RefCell::new(Core { control, vectors, dram: Vec::new(), clock: 0 }))
}

fn risc(core: &Rc<RefCell<Core>>) -> HostedRisc {
    HostedRisc::new(Box::new(Lone(Rc::clone(core))))
}

fn kernel(is_first: bool) -> u16 {
    device_zone_scoped!("Outer");
    device_zone_scoped_if!("First", is_first);
    for i in 0..2_u64 {
        device_zone_scoped_sum1!("Inner1");
        device_zone_scoped_sum2!("Inner2");
        device_timestamped_data!("Data", i);
        device_timestamped_data_16b!("Wide", i, i);
    }
    device_record_event!(77);
    src_loc_name_to_hash!("Named")
}

fn launch(program_id: u32) {
    device_zone_scoped_main!("FW");
    device_validate_profiler!(true);
    device_zone_set_counter!(program_id);
    device_zone_scoped_main_child!("KERNEL");
    kernel(program_id == 1);
}

fn kinds(words: &[u32]) -> Vec<PacketKind> {
    let mut kinds = Vec::new();
    let mut i = 12;
    while i < words.len() && !Header(words[i]).is_empty() {
        let kind = Header(words[i]).kind().expect("a known packet type");
        kinds.push(kind);
        i += kind.record_words();
    }
    kinds
}

#[test]
fn a_launch_leaves_its_run_in_dram() {
    use PacketKind::{TimestampedData as Data, TimestampedData16B as Wide, TimestampedEvent};
    use PacketKind::{ZoneEnd, ZoneStart, ZoneTotal};
    let core = core();
    let (_, ()) = enter(risc(&core), || launch(1));
    let dram = core.borrow().dram.clone();
    assert_eq!(dram[..4], [0, 0, 1 << 29, 1]);
    let expected = [
        ZoneStart,
        ZoneStart,
        Data,
        Wide,
        Data,
        Wide,
        TimestampedEvent,
        ZoneEnd,
        ZoneEnd,
        ZoneTotal,
        ZoneTotal,
    ];
    assert_eq!(kinds(&dram), expected);
    let times: Vec<_> = [4, 8, 10, 6].map(|i| Header(dram[i]).time(dram[i + 1])).into();
    assert!(times.is_sorted(), "{times:?}");
}

/// Runs a launch of several RISCs whose kernel also opens zones under the firmware's names.
fn nesting_launch(is_valid: bool) {
    device_zone_scoped_main!("FW");
    device_validate_profiler!(0b10100_u32);
    device_zone_set_counter!(9);
    device_zone_scoped_main_child!("KERNEL");
    device_validate_profiler!(is_valid);
    device_zone_scoped_main!("KERNEL-MAIN");
    device_zone_scoped_main_child!("INNER-LOOP");
}

#[test]
fn fixed_zones_of_a_kernel_stand_within_those_of_the_launch() {
    use PacketKind::{ZoneEnd, ZoneStart};
    let core = core();
    enter(risc(&core), || nesting_launch(true));
    assert_eq!(core.borrow().control[23], 0b10101, "the launch's RISCs and the one that says so");
    assert_eq!(core.borrow().control[51], 1, "one push");
    let dram = core.borrow().dram.clone();
    assert_eq!(kinds(&dram), [ZoneStart, ZoneStart, ZoneEnd, ZoneEnd]);
    let texts = registered_zones();
    let name = |word: usize| {
        let id = Header(dram[word]).id();
        let text = texts.iter().find(|text| ZoneId::from_text(text) == id).unwrap();
        text.split(',').next().unwrap().to_owned()
    };
    assert_eq!([4, 6, 8, 10].map(name), ["FW", "FW", "KERNEL", "KERNEL"]);
    let inner = ["KERNEL-MAIN", "INNER-LOOP", "INNER-LOOP", "KERNEL-MAIN"];
    assert_eq!([12, 14, 16, 18].map(name), inner);
}

#[test]
fn a_kernel_whose_data_means_nothing_leaves_none() {
    let core = core();
    enter(risc(&core), || nesting_launch(false));
    assert!(core.borrow().dram.is_empty());
    assert_eq!(core.borrow().control[51], 0, "no push");
}

#[test]
fn state_survives_from_launch_to_launch() {
    let core = core();
    let (risc, ()) = enter(risc(&core), || launch(1));
    let first = core.borrow().dram.len();
    let (mut risc, ()) = enter(risc, || launch(2));
    assert_eq!(risc.port_mut().control(51), 2, "two runs");
    assert_eq!(core.borrow().dram[first..first + 4], [0, 0, 1 << 29, 2]);
    assert_eq!(core.borrow().control[29..48], [0; 19], "nothing was lost");
}

#[test]
fn an_inner_risc_does_not_disturb_the_outer_one() {
    let (outer, inner) = (core(), core());
    enter(risc(&outer), || {
        device_zone_scoped_main!("FW");
        device_zone_scoped!("Around");
        enter(risc(&inner), || launch(3));
        device_record_event!(1);
    });
    assert_eq!(inner.borrow().dram[3], 3);
    assert_eq!(kinds(&outer.borrow().dram).len(), 3);
}

#[test]
fn a_panic_brings_the_outer_risc_back() {
    let (outer, inner) = (core(), core());
    enter(risc(&outer), || {
        device_zone_scoped_main!("FW");
        let inner = risc(&inner);
        let body = std::panic::AssertUnwindSafe(|| enter(inner, || panic!("the kernel fails")));
        assert!(std::panic::catch_unwind(body).is_err());
        device_record_event!(1);
    });
    assert_eq!(kinds(&outer.borrow().dram), [PacketKind::TimestampedEvent]);
}

#[test]
fn sites_register_the_text_of_their_id() {
    let core = core();
    let (_, id) = enter(risc(&core), || kernel(true));
    let texts = registered_zones();
    let named = texts.iter().find(|text| text.starts_with("Named,")).unwrap();
    assert_eq!(ZoneId::from_text(named), ZoneId(id));
    assert!(named.ends_with(",KERNEL_PROFILER") && named.contains("tests/hosted.rs"));
}

#[test]
fn a_probe_without_a_risc_is_a_counted_stray() {
    let before = stray_probe_count();
    device_record_event!(1);
    assert!(stray_probe_count() > before);
}
