//! Runs a launch natively, on a RISC whose memory is two arrays, and prints the kinds of the
//! markers that the launch leaves in L1.

use kernel_profiler::{
    device_timestamped_data, device_validate_profiler, device_zone_scoped, device_zone_scoped_main,
    device_zone_scoped_main_child, device_zone_set_counter,
    hosted::{HostedRisc, enter},
    port::{Clock, ClockWords, Memory, Noc, Port, Pushes, word_at},
};
use wire::{Header, PacketKind, run::RUN_HEADER_WORDS};

struct Core {
    control: [u32; 64],
    vector: [u32; 512],
    cycle: u32,
}

impl Clock for Core {
    fn now(&mut self) -> ClockWords {
        self.cycle += 1;
        ClockWords { high: 0, low: self.cycle }
    }
}

impl Memory for Core {
    fn load(&mut self, place: u32) -> u32 {
        match word_at(place) {
            (None, index) => self.control[index],
            (Some(_), index) => self.vector[index],
        }
    }

    fn store(&mut self, place: u32, value: u32) {
        match word_at(place) {
            (None, index) => self.control[index] = value,
            (Some(_), index) => self.vector[index] = value,
        }
    }
}

/// A NoC that pushes nothing, so that the markers stay in L1.
impl Noc for Core {
    fn is_linked(&mut self) -> bool {
        false
    }

    fn begin_pushes(&mut self, _bank: u32) -> Pushes {
        Pushes(0)
    }

    fn push(&mut self, _: Pushes, _from: u32, _word_count: u32, _address: u32) -> bool {
        false
    }

    fn wait_for_pushes(&mut self, _: Pushes) -> bool {
        true
    }
}

impl Port for Core {
    fn risc_index(&self) -> usize {
        0
    }

    fn risc_count(&self) -> usize {
        1
    }

    fn sums_enabled(&self) -> bool {
        false
    }
}

fn kernel(tile_count: u64) {
    device_zone_scoped!("Load");
    for tile in 0..tile_count {
        device_timestamped_data!("Tile", tile);
    }
}

/// Returns the kinds of the markers that a launch leaves in the L1 vector, in the vector's order.
fn markers(tile_count: u64) -> Vec<PacketKind> {
    let core = Core { control: [0; 64], vector: [0; 512], cycle: 0 };
    let launch = || {
        device_zone_scoped_main!("FW");
        device_validate_profiler!(true);
        device_zone_set_counter!(1);
        device_zone_scoped_main_child!("KERNEL");
        kernel(tile_count);
    };
    let (mut risc, ()) = enter(HostedRisc::new(Box::new(core)), launch);
    let mut kinds = Vec::new();
    let port = risc.port_mut();
    let vector = port.vector_place(0);
    // The four guaranteed markers of firmware and kernel follow the ID words.
    let mut index = RUN_HEADER_WORDS;
    while index < 512 {
        let header = Header(port.load(vector + 4 * u32::try_from(index).unwrap_or(0)));
        let Some(kind) = header.kind().filter(|_| header.is_marker()) else { break };
        kinds.push(kind);
        index += kind.record_words();
    }
    kinds
}

fn main() {
    println!("{:?}", markers(2));
}

#[test]
fn a_launch_has_three_zones_and_a_value_for_each_tile() {
    use PacketKind::{TimestampedData as Data, ZoneEnd as End, ZoneStart as Start};
    let guaranteed = [Start, End, Start, End];
    assert_eq!(markers(2), [&guaranteed[..], &[Start, Data, Data, End]].concat());
}
