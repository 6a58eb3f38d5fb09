//! Lays out a Wormhole with two harvested rows, and finds a core by its coordinates on either NoC.

use reader::architecture::{
    Arch, TileCoord,
    floorplan::{Floorplan, FloorplanError},
    translation::Translation,
};

/// Returns the number of remaining worker cores, and the coordinates that select tile (1,2) in NoC
/// registers.
fn laid_out() -> Result<(usize, Option<(u16, u16)>), FloorplanError> {
    let plan = Floorplan::new(Arch::WormholeB0, &[1, 11], 0)?;
    let (columns, rows) = plan.worker_grid();
    let translation = Translation::new(Arch::WormholeB0, plan.harvested());
    let count = usize::from(columns) * usize::from(rows);
    Ok((count, translation.logical(TileCoord { x: 1, y: 2 })))
}

fn main() -> Result<(), FloorplanError> {
    let (count, coordinates) = laid_out()?;
    println!("{count} worker cores; tile (1,2) is {coordinates:?} in registers");
    Ok(())
}

#[test]
fn the_first_row_that_is_left_comes_first() {
    assert_eq!(laid_out(), Ok((64, Some((18, 18)))));
}
