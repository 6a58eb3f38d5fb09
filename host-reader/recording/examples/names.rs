//! Finds the names of zones in a compiler's log.

use recording::zone_names::{NameAge, ZoneNames, ZoneNamesError};

const LOG: &[u8] = b"k.cpp:10:1: note: '#pragma message: LoadTile,/k/k.cpp,10,KERNEL_PROFILER'\n";

fn names() -> Result<Vec<String>, ZoneNamesError> {
    let mut names = ZoneNames::new();
    names.add_log("zones.log", NameAge::AnyBuild, LOG)?;
    let (table, _) = names.finish();
    let all = table
        .places()
        .map(|(_, source)| format!("{} {}:{}", source.name, source.file, source.line));
    Ok(all.collect())
}

fn main() -> Result<(), ZoneNamesError> {
    for name in names()? {
        println!("{name}");
    }
    Ok(())
}

#[test]
fn the_name_is_found() {
    assert_eq!(names().unwrap(), ["LoadTile /k/k.cpp:10"]);
}
