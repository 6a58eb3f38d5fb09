//! Recordings with known zones, built record by record.

use super::reader::TracyFile;
use host_reader::{
    export::{Recording, Trace, TraceFilter},
    host::HostRecording,
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    ledger::{LossCause, LossKey, LossTotals},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
    sync::MeshClock,
};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, RunHostId, ZoneId};

/// Expected content of each lane: number of zones and their total nanoseconds.
pub(crate) type Expected = BTreeMap<String, (usize, i64)>;

/// The records of one launch: kind, marker ID and cycle.
pub(crate) type Records = Vec<(PacketKind, u16, u64)>;

/// A recording and its expected content.
pub(crate) struct Recorded {
    pub(crate) readout: Readout,
    pub(crate) expected: Expected,
    /// Host events, and the clock that converts their times to the chips' times.
    pub(crate) host: Vec<HostRecording>,
    pub(crate) clock: Option<MeshClock>,
}

/// Returns a lane's name in the viewer.
pub(crate) fn lane_name(id: LaneId) -> String {
    format!("{} (device {}, core {}-{})", id.risc, id.chip_id, id.core.x, id.core.y)
}

/// Marker ids of the zones of every lane: `BRISC-FW`, `BRISC-KERNEL`, `LOAD`.
const IDS: [u16; 3] = [11, 12, 13];

impl Recorded {
    /// Returns cores with five RISCs each, on chips of 140 cores. Each RISC runs `launches`
    /// programs of a firmware zone, a kernel zone and `loads` nested zones.
    pub(crate) fn cores(core_count: u32, launches: u32, loads: u32) -> Self {
        let mut recorded = Self::empty();
        for (id, name) in IDS.into_iter().zip(["BRISC-FW", "BRISC-KERNEL", "LOAD"]) {
            let source =
                ZoneSource { name: name.into(), file: "/k/load.cpp".into(), line: id.into() };
            recorded.readout.zones.add(ZoneId(id), source);
        }
        for core in 0..core_count {
            let noc0 = |core: u32| u16::try_from(core).unwrap();
            let place = core % 140;
            let core = (core / 140, Noc0Coord { x: noc0(place % 14), y: noc0(place / 14) });
            for risc in &Risc::ALL[..5] {
                recorded.add_lane(
                    LaneId { chip_id: core.0, core: core.1, risc: *risc },
                    launches,
                    loads,
                );
            }
        }
        recorded
    }

    /// Returns an empty recording.
    pub(crate) fn empty() -> Self {
        let readout = Readout { zones: ZoneTable::new(), ..Readout::default() };
        Self { readout, expected: Expected::new(), host: Vec::new(), clock: None }
    }

    /// Returns one lane with consecutive zones, each with a name of its own: `ZONE-1`, `ZONE-2` and
    /// so on.
    pub(crate) fn names(name_count: u16) -> Self {
        let mut recorded = Self::empty();
        for id in 1..=name_count {
            let source = ZoneSource { name: format!("ZONE-{id}"), file: "/k.cpp".into(), line: 1 };
            recorded.readout.zones.add(ZoneId(id), source);
        }
        let zone =
            |(id, time)| [(PacketKind::ZoneStart, id, time), (PacketKind::ZoneEnd, id, time + 3)];
        let zones = (1..=name_count).zip((1_000..).step_by(5)).flat_map(zone);
        let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
        recorded.push_lane(id, &[zones.collect()]);
        recorded
    }

    fn lanes_of(&mut self, chip_id: u32) -> &mut Vec<Lane> {
        let devices = &mut self.readout.devices;
        if devices.last().is_none_or(|device| device.chip.chip_id != chip_id) {
            let arch = "wormhole_b0".to_owned();
            let chip = ChipSummary {
                chip_id,
                arch,
                aiclk_mhz: 1000,
                max_compute_cores: None,
                known_lines: [].into(),
            };
            devices.push(DeviceReadout {
                chip,
                lanes: Vec::new(),
                pending_runs: 0,
                discarded_launches: 0,
            });
        }
        &mut devices.last_mut().unwrap().lanes
    }

    /// Adds a lane of records at one cycle per nanosecond.
    pub(crate) fn push_lane(&mut self, id: LaneId, runs: &[Records]) {
        let mut lane = Lane::new(id);
        let (mut open, mut zone_count, mut duration_ns) = (Vec::new(), 0, 0);
        for (launch, records) in (1..).zip(runs) {
            lane.begin_run(RunHostId::encode(launch, 0));
            for &(kind, zone, time) in records {
                let data: &[u64] =
                    if kind == PacketKind::TimestampedData { &[0xBEEF] } else { &[] };
                lane.push(RecordHead::new(kind, ZoneIndex(zone.into())), time, data);
                match kind {
                    PacketKind::ZoneStart => open.push(time),
                    PacketKind::ZoneEnd => {
                        zone_count += 1;
                        duration_ns += i64::try_from(time - open.pop().unwrap()).unwrap();
                    }
                    _ => {}
                }
            }
        }
        self.expected.insert(lane_name(id), (zone_count, duration_ns));
        self.lanes_of(id.chip_id).push(lane);
    }

    fn add_lane(&mut self, id: LaneId, launches: u32, loads: u32) {
        use PacketKind::{ZoneEnd, ZoneStart};
        let [firmware, kernel, load] = IDS;
        let mut time = 5_000 + u64::from(id.core.x) * 17 + id.risc.index() as u64;
        let mut next = |pause: u64| {
            time += pause;
            time
        };
        let runs: Vec<_> = (0..launches)
            .map(|launch| {
                let mut records =
                    vec![(ZoneStart, firmware, next(900)), (ZoneStart, kernel, next(60))];
                for number in 0..loads {
                    records.push((ZoneStart, load, next(30)));
                    records.push((ZoneEnd, load, next(u64::from(number % 7 + launch))));
                }
                records.extend([(ZoneEnd, kernel, next(25)), (ZoneEnd, firmware, next(35))]);
                records
            })
            .collect();
        self.push_lane(id, &runs);
    }

    /// Adds a loss of 25 zones on the first lane.
    pub(crate) fn lose(&mut self) {
        let lane = self.readout.devices[0].lanes[0].id;
        let key = LossKey { lane, cause: LossCause::L1Full, program: None };
        self.readout.losses.record(key, LossTotals { zones: 25, ..LossTotals::default() });
    }

    /// Calls `look` with the trace of the recording.
    pub(crate) fn with_trace<T>(&self, look: impl FnOnce(&Trace<'_>) -> T) -> T {
        let recording = Recording {
            readout: self.readout.clone(),
            clock: self.clock.clone(),
            host: self.host.clone(),
            ..Recording::default()
        };
        look(&Trace::new(&recording, &TraceFilter::default()))
    }

    /// Asserts that the file shows all recorded lanes, and no others.
    pub(crate) fn assert_shown_by(&self, file: &TracyFile) {
        let lanes = file.contexts.iter().flat_map(|context| &context.lanes);
        let shown: Expected = lanes
            .map(|(id, zones)| {
                let duration_ns = zones.iter().map(|zone| zone.end_ns - zone.start_ns).sum();
                (file.thread_names[id].clone(), (zones.len(), duration_ns))
            })
            .collect();
        assert_eq!(shown, self.expected);
    }
}
