//! Commands of dispatch cores: finds the command that is executed during each zone, and the program
//! of the command.
//!
//! # Compatibility
//! TT-Metal's `profiler.cpp` of June 2026 writes the same texts and names into
//! `profile_log_device.csv`, but only for BRISC and NCRISC. The command numbers come from
//! `cq_commands.hpp` of TT-Metal 0.81.1. Numbers up to 17 are the same in the version of June 2026.

use reader::{
    lane::{Lane, Record, RecordHead, ZoneIndex},
    names::{ZoneSource, ZoneTable},
    readout::Readout,
};
use std::collections::HashMap;
use wire::{PacketKind, Risc, ZoneId};

/// Substring in the names of the zones on dispatch cores. Each such zone executes one command.
const DISPATCH: &str = "DISPATCH";

/// Names the zone of each command, and annotates the data of dispatch kernels. Returns the number
/// of named zones.
///
/// Each data value is annotated with its meaning. The command and the command's program are added
/// to the name of the zone. Device logs already have annotations and names.
pub fn name_dispatch_commands(readout: &mut Readout) -> u64 {
    let Readout { devices, zones, .. } = readout;
    if !zones.places().any(|(_, zone)| zone.name.contains(DISPATCH)) {
        return 0;
    }
    let mut roles = HashMap::new();
    let lanes = devices.iter_mut().flat_map(|device| &mut device.lanes);
    let dispatching = lanes.filter(|lane| matches!(lane.id.risc, Risc::Brisc | Risc::Ncrisc));
    dispatching.map(|lane| name_lane(lane, zones, &mut roles)).fold(0, u64::saturating_add)
}

/// Role of a zone or data name on a dispatch core.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Zone of a command.
    Zone,
    /// Data with the number of the command.
    Command,
    /// Data with the program that the following commands belong to.
    Program,
    /// Data with the type of a packed write.
    Packed,
    /// Data with the type of a large packed write.
    PackedLarge,
    Other,
}

impl Role {
    fn from_zone(name: &str) -> Self {
        if name.contains(DISPATCH) { Self::Zone } else { Self::Other }
    }

    fn from_data(name: &str) -> Self {
        let parts = [
            ("process_cmd", Self::Command),
            ("runtime_host_id_dispatch", Self::Program),
            ("packed_data_dispatch", Self::Packed),
            ("packed_large_data_dispatch", Self::PackedLarge),
        ];
        let part = parts.into_iter().find(|(part, _)| name.contains(part));
        part.map_or(Self::Other, |(_, role)| role)
    }
}

/// Current work of a dispatcher: a command and the command's program.
#[derive(Default)]
struct Work {
    command: String,
    sort: String,
    program: u32,
}

impl Work {
    /// Stores a data value, and returns the text with which the value's record is annotated.
    fn take(&mut self, role: Role, value: u64) -> Option<String> {
        match role {
            Role::Command => {
                self.command = named(&COMMANDS, value);
                Some(format!(r#"{{"dispatch_command_type":"{}"}}"#, self.command))
            }
            Role::Program => {
                self.program = u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0);
                Some(format!(r#"{{"workers_runtime_id":{}}}"#, self.program))
            }
            Role::Packed => {
                let multicast = if value & 1 != 0 { "MCAST;" } else { "" };
                self.sort = format!("{multicast}{}", named(&PACKED_WRITES, value >> 1));
                Some(self.sort_text())
            }
            Role::PackedLarge => {
                self.sort = named(&LARGE_WRITES, value);
                Some(self.sort_text())
            }
            Role::Zone | Role::Other => None,
        }
    }

    fn sort_text(&self) -> String {
        format!(r#"{{"dispatch_command_subtype":"{}"}}"#, self.sort)
    }

    /// Returns the label that is added to the name of the zone.
    fn label(&self, risc: Risc) -> String {
        match (risc, self.sort.as_str()) {
            (Risc::Brisc, "") => format!("{}:{}", self.program, self.command),
            (Risc::Brisc, sort) => format!("{}:{sort}", self.program),
            _ => self.command.clone(),
        }
    }
}

/// An open zone.
struct OpenZone {
    start: usize,
    zone: ZoneIndex,
    /// Labels to add to the zone's name.
    labels: String,
}

fn name_lane(
    lane: &mut Lane,
    zones: &mut ZoneTable,
    roles: &mut HashMap<(bool, ZoneIndex), Role>,
) -> u64 {
    let mut named: Vec<(OpenZone, Option<usize>)> = Vec::new();
    let mut texts: Vec<(usize, Box<str>)> = Vec::new();
    let mut role_of = |is_data, zone| {
        *roles.entry((is_data, zone)).or_insert_with(|| {
            let name = zones.name(zone);
            if is_data { Role::from_data(name) } else { Role::from_zone(name) }
        })
    };
    let mut work = Work::default();
    let mut open: Vec<OpenZone> = Vec::new();
    let mut begins = lane.runs.iter().map(|run| run.first_record).peekable();
    for (index, Record { kind, zone, data, .. }) in lane.records().enumerate() {
        if begins.next_if(|&first| first <= index).is_some() {
            named.extend(open.drain(..).map(|zone| (zone, None)));
        }
        match kind {
            PacketKind::ZoneStart => {
                work.sort.clear();
                open.push(OpenZone { start: index, zone, labels: String::new() });
            }
            PacketKind::ZoneEnd => {
                work.sort.clear();
                let Some(at) = open.iter().rposition(|open| open.zone == zone) else { continue };
                // Inner zones that have no end are closed together with this zone.
                let ended = open.drain(at..).enumerate();
                named.extend(ended.map(|(inner, zone)| (zone, (inner == 0).then_some(index))));
            }
            PacketKind::TimestampedData | PacketKind::TimestampedData16B => {
                let Some(around) = open.last_mut() else { continue };
                if role_of(false, around.zone) != Role::Zone {
                    continue;
                }
                let value = data.first().copied().unwrap_or(0);
                let text = work.take(role_of(true, zone), value);
                texts.extend(text.map(|text| (index, text.into())));
                around.labels.push(':');
                around.labels.push_str(&work.label(lane.id.risc));
            }
            PacketKind::ZoneTotal | PacketKind::TimestampedEvent => {}
        }
    }
    named.extend(open.into_iter().map(|zone| (zone, None)));
    lane.add_texts(texts);
    rename(lane, &named, zones)
}

/// Gives zones their full names, and returns the number of renamed zones.
fn rename(lane: &mut Lane, named: &[(OpenZone, Option<usize>)], zones: &mut ZoneTable) -> u64 {
    let mut count = 0_u64;
    for (OpenZone { start, zone, labels }, end) in named {
        let Ok(id) = u16::try_from(zones.id(*zone)) else { continue };
        let Some(source) = zones.sources(*zone).first().filter(|_| !labels.is_empty()) else {
            continue;
        };
        let name = format!("{}{labels}", source.name);
        let index = zones.intern(ZoneId(id), ZoneSource { name, ..source.clone() });
        let records = [(Some(*start), PacketKind::ZoneStart), (*end, PacketKind::ZoneEnd)];
        for (record, kind) in records {
            if let Some(head) = record.and_then(|record| lane.heads.get_mut(record)) {
                *head = RecordHead::new(kind, index);
            }
        }
        count = count.saturating_add(1);
    }
    count
}

/// Returns the name for a number, or the number itself if there is no name.
fn named(names: &[&str], number: u64) -> String {
    let name = usize::try_from(number).ok().and_then(|number| names.get(number));
    name.filter(|name| !name.is_empty()).map_or_else(|| number.to_string(), |&name| name.to_owned())
}

/// Names of commands by number, as in `CQDispatchCmdId`.
const COMMANDS: [&str; 20] = [
    "CQ_DISPATCH_CMD_ILLEGAL",
    "CQ_DISPATCH_CMD_WRITE_LINEAR",
    "CQ_DISPATCH_CMD_WRITE_LINEAR_H",
    "CQ_DISPATCH_CMD_WRITE_LINEAR_H_HOST",
    "CQ_DISPATCH_CMD_WRITE_PAGED",
    "CQ_DISPATCH_CMD_WRITE_PACKED",
    "CQ_DISPATCH_CMD_WRITE_PACKED_LARGE",
    "CQ_DISPATCH_CMD_WAIT",
    "CQ_DISPATCH_CMD_SINK",
    "CQ_DISPATCH_CMD_DEBUG",
    "CQ_DISPATCH_CMD_DELAY",
    "CQ_DISPATCH_CMD_EXEC_BUF_END",
    "CQ_DISPATCH_CMD_SET_WRITE_OFFSET",
    "CQ_DISPATCH_CMD_TERMINATE",
    "CQ_DISPATCH_CMD_SEND_GO_SIGNAL",
    "CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL",
    "CQ_DISPATCH_SET_NUM_WORKER_SEMS",
    "CQ_DISPATCH_CMD_WRITE_PACKED_LARGE_UNICAST",
    "CQ_DISPATCH_SET_SUB_DEVICE_WORKER_COUNTS",
    "CQ_DISPATCH_CMD_RT_PROFILER_FLUSH",
];

/// Types of packed writes by number, as in `CQDispatchCmdPackedWriteType`.
const PACKED_WRITES: [&str; 6] = [
    "",
    "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_RTA",
    "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH",
    "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_SEMS",
    "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_EVENT",
    "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_GO_MSG_INDEX",
];

/// Types of large packed writes by number, as in `CQDispatchCmdPackedWriteLargeType`.
const LARGE_WRITES: [&str; 3] = [
    "CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_UNKNOWN",
    "CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_CBS_SEMS_CRTAS",
    "CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES",
];

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::LaneId,
        mesh::Noc0Coord,
        readout::{ChipSummary, DeviceReadout},
    };
    use wire::RunHostId;

    /// Names of zones and data by their ids in these tests.
    const NAMES: [(u16, &str); 8] = [
        (1, "BRISC-FW"),
        (2, "CQ-DISPATCH"),
        (3, "process_cmd_d_dispatch"),
        (4, "runtime_host_id_dispatch"),
        (5, "packed_data_dispatch"),
        (6, "packed_large_data_dispatch"),
        (7, "noc_async_write_barrier"),
        (8, "packed_large_unicast_data_dispatch"),
    ];

    enum Step {
        Start(u32),
        End(u32),
        Data(u32, u64),
    }
    use Step::{Data, End, Start};

    /// Names the zones of a lane. Returns the names at zone starts, the names at zone ends, and the
    /// metadata texts of records, each with the index of its record.
    fn names_of(risc: Risc, steps: &[Step]) -> (Vec<String>, Vec<String>, Vec<(usize, String)>) {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc });
        lane.begin_run(RunHostId(0));
        for (time, step) in (0..).zip(steps) {
            let (kind, zone, data) = match step {
                Start(zone) => (PacketKind::ZoneStart, *zone, None),
                End(zone) => (PacketKind::ZoneEnd, *zone, None),
                Data(zone, value) => (PacketKind::TimestampedData, *zone, Some(*value)),
            };
            lane.push(RecordHead::new(kind, ZoneIndex(zone)), time, data.as_slice());
        }
        let mut readout = Readout::default();
        for (id, name) in NAMES {
            let source = ZoneSource { name: name.into(), file: "/d.cpp".into(), line: id.into() };
            readout.zones.add(ZoneId(id), source);
        }
        let chip = ChipSummary {
            chip_id: 0,
            arch: "x".into(),
            aiclk_mhz: 1,
            max_compute_cores: None,
            known_lines: [].into(),
        };
        let lanes = vec![lane];
        readout.devices.push(DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 });
        name_dispatch_commands(&mut readout);
        let lane = &readout.devices[0].lanes[0];
        let names = |kind| {
            let records = lane.records().filter(|record| record.kind == kind);
            records.map(|record| readout.zones.name(record.zone).to_owned()).collect()
        };
        let texts = lane.metadata.iter().map(|(record, text)| (*record, text.to_string()));
        (names(PacketKind::ZoneStart), names(PacketKind::ZoneEnd), texts.collect())
    }

    /// Tests the names that TT-Metal's `device_post_proc_config.py` searches for.
    #[test]
    fn commands_are_named_as_upstreams_scripts_look_for_them() {
        let command = |id, more: Option<Step>| {
            [Some(Start(2)), Some(Data(3, id)), more, Some(End(2))].into_iter().flatten()
        };
        let steps: Vec<Step> = std::iter::once(Start(1))
            .chain(command(12, Some(Data(4, 0))))
            .chain(command(7, None))
            .chain(command(6, Some(Data(6, 2))))
            .chain(command(5, Some(Data(5, 8))))
            .chain(command(5, Some(Data(5, 5))))
            .chain(command(13, None))
            .chain([End(1)])
            .collect();
        let (starts, ends, texts) = names_of(Risc::Brisc, &steps);
        let expected = [
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET",
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WAIT",
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PACKED_LARGE:0:\
             CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES",
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PACKED:0:\
             CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_EVENT",
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PACKED:0:\
             MCAST;CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH",
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_TERMINATE",
        ];
        assert_eq!(
            (&starts[0], &starts[1..]),
            (&"BRISC-FW".to_owned(), &expected.map(str::to_owned)[..])
        );
        assert_eq!(
            (&ends[..6], &ends[6]),
            (&expected.map(str::to_owned)[..], &"BRISC-FW".to_owned())
        );
        let at = |record: usize| texts.iter().find(|(of, _)| *of == record).unwrap().1.clone();
        assert_eq!(at(2), r#"{"dispatch_command_type":"CQ_DISPATCH_CMD_SET_WRITE_OFFSET"}"#);
        assert_eq!(at(3), r#"{"workers_runtime_id":0}"#);
        let launch = "MCAST;CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH";
        assert_eq!(at(18), format!(r#"{{"dispatch_command_subtype":"{launch}"}}"#));
        assert_eq!(texts.len(), 10);
    }

    #[test]
    fn a_program_is_named_until_the_next_one_and_a_subordinate_knows_none() {
        let (starts, ..) = names_of(Risc::Brisc, &steps(200));
        let expected = [
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET:77:CQ_DISPATCH_CMD_SET_WRITE_OFFSET",
            "CQ-DISPATCH:77:CQ_DISPATCH_CMD_WRITE_LINEAR",
            "noc_async_write_barrier",
            "CQ-DISPATCH:77:200",
        ];
        assert_eq!(starts, expected);
        let (starts, ..) = names_of(Risc::Ncrisc, &steps(14));
        assert_eq!(starts[3], "CQ-DISPATCH:CQ_DISPATCH_CMD_SEND_GO_SIGNAL");
        let (starts, _, texts) = names_of(Risc::Trisc0, &steps(14));
        assert!(starts[3] == "CQ-DISPATCH" && texts.is_empty());
    }

    const fn steps(last: u64) -> [Step; 13] {
        [
            Start(2),
            Data(3, 12),
            Data(4, 77),
            End(2),
            Start(2),
            Data(3, 1),
            Start(7),
            Data(4, 9),
            End(7),
            End(2),
            Start(2),
            Data(3, last),
            End(2),
        ]
    }

    #[test]
    fn other_data_repeat_the_command_and_ends_that_are_missing_lose_no_name() {
        let steps = [
            Start(2),
            Data(3, 17),
            Data(8, 1),
            Start(2),
            Data(3, 7),
            End(1),
            Start(2),
            Data(3, 3),
            End(2),
        ];
        let (starts, ends, _) = names_of(Risc::Brisc, &steps);
        let unicast = "0:CQ_DISPATCH_CMD_WRITE_PACKED_LARGE_UNICAST";
        let expected = [
            format!("CQ-DISPATCH:{unicast}:{unicast}"),
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WAIT".to_owned(),
            "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_LINEAR_H_HOST".to_owned(),
        ];
        assert_eq!(starts, expected);
        assert_eq!(ends, ["BRISC-FW", &expected[2]]);
    }
}
