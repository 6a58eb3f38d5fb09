//! What is gathered without records against what is computed from all of them.

use super::{GatheredLanes, ZoneGathering, ZoneGrouping, paired_zone_statistics, zone_statistics};
use crate::{
    anomaly::{Anomaly, AnomalyLog},
    decode::{LaneContext, LaneDecoder, LaneState, UndecodedLane, properties},
    lane::{Lane, LaneId},
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
    timeline::Timeline,
};
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeMap;
use wire::{Risc, ZoneId};

const RISCS: [Risc; 3] = [Risc::Trisc0, Risc::Brisc, Risc::TensixAggregate];

/// Chip 1, with as many cores of these RISCs as there are streams for.
fn contexts(count: usize) -> Vec<LaneContext> {
    let context = properties::context(None);
    let context_of = |number: usize| {
        let mut core = context.lane.core;
        core.x += u16::try_from(number / RISCS.len()).unwrap();
        LaneContext {
            lane: LaneId { core, risc: RISCS[number % RISCS.len()], ..context.lane },
            ..context
        }
    };
    (0..count).map(context_of).collect()
}

fn chip() -> ChipSummary {
    let arch = "wormhole_b0".to_owned();
    ChipSummary { chip_id: 1, arch, aiclk_mhz: 1000, max_compute_cores: None }
}

fn names() -> ZoneTable {
    let mut names = ZoneTable::new();
    for (id, name) in [(0xFC0D, "BRISC-FW"), (0xE427, "BRISC-KERNEL"), (1, "A-FW"), (2, "B")] {
        names.add(ZoneId(id), ZoneSource { name: name.into(), file: "/k".into(), line: 3 });
    }
    names
}

/// The same words gathered, and read with everything kept, read by read.
struct Both {
    gathering: ZoneGathering,
    gathered: GatheredLanes,
    contexts: Vec<LaneContext>,
    states: BTreeMap<LaneId, LaneState>,
    readout: Readout,
}

impl Both {
    fn new(grouping: ZoneGrouping, lane_count: usize) -> Self {
        Self {
            gathering: ZoneGathering::new(grouping),
            gathered: GatheredLanes::default(),
            contexts: contexts(lane_count),
            states: BTreeMap::new(),
            readout: Readout { zones: names(), ..Readout::default() },
        }
    }

    /// Reads these words of each lane.
    fn read(&mut self, first_word: u64, words: &[&[u32]]) {
        let lanes = self.contexts.iter().zip(words).map(|(context, words)| UndecodedLane {
            context: *context,
            state: self.states.get(&context.lane).cloned().unwrap_or_default(),
            pieces: vec![(first_word, *words)],
        });
        let lanes: Vec<_> = lanes.collect();
        self.gathered = self.gathering.decode(&chip(), lanes.clone(), &self.readout.zones);
        let readout = self.keep(lanes);
        self.readout.append(readout);
    }

    fn keep(&mut self, lanes: Vec<UndecodedLane<'_>>) -> Readout {
        let mut readout = Readout::default();
        let mut lanes_with_records: Vec<Lane> = Vec::new();
        for lane in lanes {
            let mut decoder = LaneDecoder::new(&lane.context, lane.state);
            lane.pieces.iter().for_each(|&(first_word, words)| decoder.feed(words, first_word));
            let (decoded, state) = decoder.finish();
            self.states.insert(lane.context.lane, state);
            readout.anomalies.merge(decoded.anomalies);
            readout.losses.merge(&decoded.losses);
            lanes_with_records.extend(Some(decoded.lane).filter(|lane| lane.record_count() > 0));
        }
        lanes_with_records.sort_by_key(|lane| lane.id);
        let lanes = lanes_with_records;
        let device = DeviceReadout { chip: chip(), lanes, pending_runs: 0, discarded_launches: 0 };
        Readout { devices: vec![device], ..readout }
    }
}

/// Anomalies with the order of lanes and kinds taken out.
fn sorted(anomalies: &AnomalyLog) -> Vec<Anomaly> {
    let mut kept = anomalies.kept().to_vec();
    kept.sort_by_key(|anomaly| (anomaly.lane, anomaly.kind));
    kept
}

fn streams() -> impl Strategy<Value = (Vec<u32>, Vec<usize>)> {
    prop_oneof![properties::streams(), properties::nested_streams()]
}

proptest! {
    #[test]
    fn statistics_of_gathered_lanes_are_those_of_a_timeline(
        streams in prop::collection::vec(streams(), 1..8), all_riscs: bool,
    ) {
        let grouping = if all_riscs { ZoneGrouping::AllRiscs } else { ZoneGrouping::ByRisc };
        let mut both = Both::new(grouping, streams.len());
        both.read(0, &streams.iter().map(|(words, _)| words.as_slice()).collect::<Vec<_>>());
        let timeline = Timeline::of_readout(&both.readout);
        let expected = zone_statistics(&both.readout, &timeline, grouping);
        let (zones, anomalies) = both.gathering.statistics(&both.readout.zones);
        prop_assert_eq!(&zones, &expected);
        prop_assert_eq!(sorted(&anomalies), sorted(&timeline.anomalies));
        prop_assert_eq!(paired_zone_statistics(&both.readout, grouping), (expected, timeline.anomalies));
        prop_assert_eq!(both.gathered.record_count, both.readout.record_count() as u64);
        prop_assert_eq!(&both.gathered.losses, &both.readout.losses);
        prop_assert_eq!(&both.gathered.anomalies, &both.readout.anomalies);
        prop_assert_eq!(BTreeMap::from_iter(both.gathered.states), both.states);
    }

    #[test]
    fn reads_add_up_to_the_statistics_of_everything(
        (words, pushes) in streams(), cuts in prop::collection::vec(any::<usize>(), 0..3),
    ) {
        let mut ends: Vec<_> = pushes.into_iter().filter(|&push| push <= words.len()).collect();
        ends.extend(cuts.iter().map(|cut| cut % (words.len() + 1)));
        ends.push(words.len());
        ends.sort_unstable();
        let mut both = Both::new(ZoneGrouping::ByRisc, RISCS.len());
        let mut begin = 0;
        for end in ends {
            both.read(begin as u64, &[&words[begin..end]; RISCS.len()]);
            begin = end;
        }
        let timeline = Timeline::of_readout(&both.readout);
        let (zones, anomalies) = both.gathering.statistics(&both.readout.zones);
        prop_assert_eq!(zones, zone_statistics(&both.readout, &timeline, ZoneGrouping::ByRisc));
        prop_assert_eq!(sorted(&anomalies), sorted(&timeline.anomalies));
    }
}
