//! Selection of the cores to profile or read.

use super::{CoreDescription, Noc0Coord};
use std::collections::BTreeSet;
use wire::CoreKind;

/// A selection of cores. A core is selected if it satisfies all fields; a field that is `None` does
/// not restrict the selection.
///
/// ```
/// use reader::mesh::CoreSelection;
/// use wire::CoreKind;
/// let kinds = Some([CoreKind::Tensix].into());
/// let workers = CoreSelection { kinds, ..CoreSelection::default() };
/// assert!(workers.chips.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreSelection {
    /// Selected chips, by number.
    pub chips: Option<BTreeSet<u32>>,
    /// Selected kinds of core.
    pub kinds: Option<BTreeSet<CoreKind>>,
    /// Selected NoC-0 coordinates, the same on all selected chips.
    pub cores: Option<BTreeSet<Noc0Coord>>,
}

impl CoreSelection {
    /// Selects all cores of all chips.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the cores at these coordinates.
    #[must_use]
    pub fn at(cores: impl IntoIterator<Item = Noc0Coord>) -> Self {
        Self { cores: Some(cores.into_iter().collect()), ..Self::default() }
    }

    /// Returns true if this core of the chip is selected.
    #[must_use]
    pub fn contains(&self, chip_id: u32, core: &CoreDescription) -> bool {
        admits(self.chips.as_ref(), &chip_id)
            && admits(self.kinds.as_ref(), &core.kind)
            && admits(self.cores.as_ref(), &core.noc0)
    }
}

fn admits<T: Ord>(chosen: Option<&BTreeSet<T>>, item: &T) -> bool {
    chosen.is_none_or(|chosen| chosen.contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::LogicalCoord;

    #[test]
    fn every_part_must_admit_the_core() {
        let noc0 = Noc0Coord { x: 1, y: 2 };
        let core = CoreDescription {
            noc0,
            logical: LogicalCoord { x: 0, y: 0 },
            kind: CoreKind::Tensix,
            flat_id: 0,
            control_address: 0,
            vector_address: 256,
        };
        assert!(CoreSelection::all().contains(3, &core));
        assert!(CoreSelection::at([noc0]).contains(3, &core));
        assert!(!CoreSelection::at([Noc0Coord { x: 2, y: 2 }]).contains(3, &core));
        let kinds = Some([CoreKind::IdleEth].into());
        assert!(!CoreSelection { kinds, ..CoreSelection::default() }.contains(3, &core));
        let chip_0 =
            CoreSelection { chips: Some(BTreeSet::from([0])), ..CoreSelection::at([noc0]) };
        assert!(chip_0.contains(0, &core) && !chip_0.contains(1, &core));
    }
}
