//! Selection of the builds that a run tries: all of them, or a random sixth.

use crate::script::Seed;

/// Environment variable that makes a run try every build.
const EVERY_BUILD: &str = "KPROF_EVERY_BUILD";
/// Without the variable, a run tries one in `PART` builds.
const PART: usize = 6;

/// Returns true if this run tries every build.
pub(crate) fn tries_every_build() -> bool {
    std::env::var_os(EVERY_BUILD).is_some_and(|value| value != "0")
}

/// Returns all items, or a sixth of them drawn at random. If it draws, also prints how many items
/// were drawn.
pub(crate) fn drawn<T>(what: &str, mut items: Vec<T>) -> Vec<T> {
    if tries_every_build() {
        return items;
    }
    let (all, part) = (items.len(), items.len().div_ceil(PART));
    let mut seed = Seed::fresh();
    println!("{part} of {all} {what}, seed {}; {EVERY_BUILD}=1 tries all", seed.0);
    for index in 0..part {
        let other = seed.below((all - index) as u64);
        items.swap(index, index + usize::try_from(other).unwrap());
    }
    items.truncate(part);
    items
}
