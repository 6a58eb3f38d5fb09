//! Measurements of a mesh's clocks. Every single measurement is kept.

use reader::clock::{EthernetPing, PingBurst, Tile, TwoWayPing};
use std::collections::BTreeMap;

/// Messages over one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkBurst {
    /// Tile that sent the messages.
    pub sender: Tile,
    /// Tile that echoed the messages.
    pub receiver: Tile,
    /// Messages in the order in which they were sent.
    pub pings: Vec<EthernetPing>,
}

/// Pings of tiles and messages over links, from any number of sessions.
///
/// ```
/// use recording::capture::sync::MeshSamples;
/// use reader::clock::{PingBurst, Tile, TwoWayPing};
/// let ping = TwoWayPing { host_send_ns: 0, device_cycles: 7, host_receive_ns: 800 };
/// let mut samples = MeshSamples::default();
/// samples.add_burst(PingBurst { tile: Tile::new(0, 1, 1), pings: vec![ping; 3] });
/// samples.add_burst(PingBurst { tile: Tile::new(0, 2, 1), pings: vec![ping] });
/// assert_eq!(samples.reference(0), Some(Tile::new(0, 1, 1)));
/// assert_eq!(samples.ping_count(), 4);
/// ```
///
/// A mesh is sampled before, while and after kernels run:
///
/// ```no_run
/// # fn run(mesh: &mut impl reader::mesh::Mesh, is_running: impl Fn() -> bool) {
/// use recording::capture::sync::MeshSamples;
/// let mut samples = MeshSamples::default();
/// samples.open(mesh);
/// while is_running() {
///     // ... drain, and every 100 ms or so:
///     samples.refresh(mesh);
/// }
/// samples.close(mesh);
/// let clock = samples.fit();
/// # }
/// ```
///
/// # Cost
/// A ping is one read of a chip, which takes about 0.8 us over PCIe. For a mesh of 8 chips with 64
/// tiles, one call of `open` or `close` takes about 7 ms, and one call of `refresh` takes about 0.2
/// ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshSamples {
    tiles: BTreeMap<Tile, Vec<TwoWayPing>>,
    links: BTreeMap<(Tile, Tile), Vec<EthernetPing>>,
}

impl MeshSamples {
    /// Adds pings of a tile to the tile's earlier pings.
    pub fn add_burst(&mut self, burst: PingBurst) {
        self.tiles.entry(burst.tile).or_default().extend(burst.pings);
    }

    /// Adds one ping of a tile.
    pub(super) fn add_ping(&mut self, tile: Tile, ping: TwoWayPing) {
        self.tiles.entry(tile).or_default().push(ping);
    }

    /// Adds messages over a link to the link's earlier messages.
    pub fn add_link_burst(&mut self, burst: LinkBurst) {
        self.links.entry((burst.sender, burst.receiver)).or_default().extend(burst.pings);
    }

    /// Returns all pings of each tile, as a capture stores them.
    pub fn bursts(&self) -> impl Iterator<Item = PingBurst> {
        self.tiles.iter().map(|(&tile, pings)| PingBurst { tile, pings: pings.clone() })
    }

    /// Returns all messages over each link, as a capture stores them.
    pub fn link_bursts(&self) -> impl Iterator<Item = LinkBurst> {
        self.links.iter().map(|(&(sender, receiver), pings)| LinkBurst {
            sender,
            receiver,
            pings: pings.clone(),
        })
    }

    /// Returns the samples of `self` that are not in `earlier`. `earlier` must be an older copy of
    /// `self`.
    ///
    /// ```
    /// use recording::capture::sync::MeshSamples;
    /// use reader::clock::{PingBurst, Tile, TwoWayPing};
    /// let burst = |device_cycles| {
    ///     let ping = TwoWayPing { host_send_ns: 0, device_cycles, host_receive_ns: 800 };
    ///     PingBurst { tile: Tile::new(0, 1, 1), pings: vec![ping] }
    /// };
    /// let mut samples = MeshSamples::default();
    /// samples.add_burst(burst(7));
    /// let earlier = samples.clone();
    /// samples.add_burst(burst(9));
    /// assert_eq!(samples.since(&earlier).bursts().collect::<Vec<_>>(), [burst(9)]);
    /// ```
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            tiles: behind(&self.tiles, &earlier.tiles),
            links: behind(&self.links, &earlier.links),
        }
    }

    /// Returns the total number of pings of all tiles.
    #[must_use]
    pub fn ping_count(&self) -> usize {
        self.tiles.values().map(Vec::len).sum()
    }

    /// Returns the tile from which a chip's frequency is measured: the tile with the most pings.
    #[must_use]
    pub fn reference(&self, chip_id: u32) -> Option<Tile> {
        let tiles = self.tiles_of(chip_id).rev();
        tiles.max_by_key(|(_, pings)| pings.len()).map(|(tile, _)| tile)
    }

    /// Returns the chips that have pings, ascending.
    pub(super) fn chips(&self) -> Vec<u32> {
        let mut chips: Vec<u32> = self.tiles.keys().map(|tile| tile.chip).collect();
        chips.dedup();
        chips
    }

    pub(super) fn tiles_of(
        &self,
        chip_id: u32,
    ) -> impl DoubleEndedIterator<Item = (Tile, &[TwoWayPing])> {
        let range = Tile::new(chip_id, 0, 0)..=Tile::new(chip_id, u8::MAX, u8::MAX);
        self.tiles.range(range).map(|(&tile, pings)| (tile, &pings[..]))
    }

    /// Returns the last counter value that was read from a tile.
    pub(super) fn last_reading(&self, tile: Tile) -> Option<u64> {
        Some(self.tiles.get(&tile)?.last()?.device_cycles)
    }
}

/// For each key, returns the items of the list that are not in the list with the same key in
/// `earlier`.
fn behind<K: Copy + Ord, T: Clone>(
    lists: &BTreeMap<K, Vec<T>>,
    earlier: &BTreeMap<K, Vec<T>>,
) -> BTreeMap<K, Vec<T>> {
    let rest = lists.iter().filter_map(|(key, list)| {
        let known = earlier.get(key).map_or(0, Vec::len);
        let rest = list.get(known..).filter(|rest| !rest.is_empty())?;
        Some((*key, rest.to_vec()))
    });
    rest.collect()
}
