//! Lanes of a recording, whether they are in memory or packed.

use crate::device_log::PackedLanes;
use rayon::prelude::*;
use reader::{
    from_lanes::{FromLanes, LanesContext, fold_lanes},
    lane::{Lane, LaneId},
    packed_bytes::PackedError,
    readout::Readout,
};
use wire::ZoneId;

/// Lanes of a readout. The methods are the same for lanes in memory and for packed lanes.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// Everything that was recorded about the chips. If the lanes are packed, the readout contains
    /// no lanes.
    pub readout: &'a Readout,
    packed: Option<&'a PackedLanes>,
}

impl<'a> Lanes<'a> {
    /// Returns the lanes of a readout that has its lanes in memory.
    #[must_use]
    pub const fn in_memory(readout: &'a Readout) -> Self {
        Self { readout, packed: None }
    }

    /// Returns the packed lanes of a log. `readout` is the readout of the same log.
    #[must_use]
    pub const fn packed(readout: &'a Readout, lanes: &'a PackedLanes) -> Self {
        Self { readout, packed: Some(lanes) }
    }

    /// Returns false if no record has this marker id. Always returns true for lanes in memory,
    /// which are not searched.
    #[must_use]
    pub fn may_have_marker(self, id: ZoneId) -> bool {
        self.packed.is_none_or(|lanes| lanes.has_marker(id))
    }

    /// Collects data from all lanes. The data is in several parts of type `F`, because several
    /// threads collect it.
    ///
    /// # Errors
    /// If packed records cannot be read back from the temporary file.
    pub fn collect<F: FromLanes>(self) -> Result<Vec<F>, PackedError> {
        match self.packed {
            None => Ok(F::parts_of_readout(self.readout)),
            Some(lanes) => {
                let context = F::Context::new(self.readout, lanes.memory());
                Ok(lanes.visit(|part: &mut F, lane| part.add(&context, &lane))?.0)
            }
        }
    }

    /// Calls `take` once for each core, with the lanes of the core in the order of the RISCs. Runs
    /// on all threads; each thread has an accumulator.
    ///
    /// ```
    /// use recording::{Lanes, device_log::PackedLog};
    /// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
    /// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
    /// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
    /// 0,1,2,NCRISC,8,100,0,1024,NCRISC-FW,ZONE_START
    /// ";
    /// let log = PackedLog::read(log.as_bytes(), "my log")?;
    /// let counts = Lanes::packed(&log.readout, &log.lanes).fold_cores(|counts: &mut Vec<usize>, lanes| {
    ///     counts.push(lanes.len());
    /// })?;
    /// assert_eq!(counts, [[2]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If packed records cannot be read back from the temporary file.
    pub fn fold_cores<A: Default + Send>(
        self,
        take: impl Fn(&mut A, &[&Lane]) + Sync,
    ) -> Result<Vec<A>, PackedError> {
        let is_same =
            |one: LaneId, other: LaneId| (one.chip_id, one.core) == (other.chip_id, other.core);
        match self.packed {
            None => {
                let lanes: Vec<&Lane> = self.readout.lanes().collect();
                let cores: Vec<_> =
                    lanes.chunk_by(|one, other| is_same(one.id, other.id)).collect();
                fold_lanes(cores.into_par_iter(), |accumulator, core| {
                    take(accumulator, core);
                    Ok(())
                })
            }
            Some(packed) => {
                let ids: Vec<LaneId> = packed.ids().collect();
                let cores: Vec<_> = ids.chunk_by(|one, other| is_same(*one, *other)).collect();
                fold_lanes(cores.into_par_iter(), |accumulator, core| {
                    let lanes = core.iter().filter_map(|&id| packed.lane(id).transpose());
                    let lanes: Vec<Lane> = lanes.collect::<Result<_, PackedError>>()?;
                    take(accumulator, &lanes.iter().collect::<Vec<_>>());
                    Ok(())
                })
            }
        }
    }
}
