//! Reading a mesh for its zones' statistics alone.

use super::{Keep, ReadError, Reader};
use crate::{analysis::ZoneGathering, mesh::Mesh, readout::Readout};

impl Reader {
    /// Reads everything that was recorded since the last read, as [`Reader::read`] does, and
    /// keeps of it the durations of zones. The readout has everything but lanes.
    ///
    /// # Errors
    /// As [`Reader::read`].
    ///
    /// # Cost
    /// Half that of a read whose zones are paired and summed up afterwards, or less: records
    /// are never more than one lane's for each thread. Memory as of [`ZoneGathering`], and the
    /// words of one chip.
    ///
    /// ```
    /// use host_reader::{ReadError, Reader, mesh::Mesh};
    /// use host_reader::analysis::{ZoneGathering, ZoneGrouping, ZoneStatistics};
    ///
    /// # fn launch_something<M: ?Sized>(_mesh: &mut M) {}
    /// fn zones_of_100_launches(mesh: &mut dyn Mesh) -> Result<Vec<ZoneStatistics>, ReadError> {
    ///     let mut reader = Reader::default();
    ///     let mut zones = ZoneGathering::new(ZoneGrouping::ByRisc);
    ///     for _ in 0..100 {
    ///         launch_something(mesh);
    ///         let readout = reader.read_zones(mesh, &mut zones)?;
    ///         assert!(readout.losses.is_empty());
    ///     }
    ///     Ok(zones.statistics(&reader.options_mut().zones).0)
    /// }
    /// # let mut mesh = host_reader::mesh::MeshImage { devices: Vec::new() };
    /// # assert!(zones_of_100_launches(&mut mesh).is_err());
    /// ```
    pub fn read_zones<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        zones: &mut ZoneGathering,
    ) -> Result<Readout, ReadError> {
        self.read_for(mesh, Keep::Zones(zones))
    }
}
