//! Compares the header in the repository with the header generated from the sources.

use std::path::Path;

/// Sources with items of the interface, in the order of the header.
const SOURCES: [&str; 10] = [
    "status",
    "mesh",
    "session",
    "programs",
    "periodic",
    "recording/rows",
    "recording/columns",
    "recording",
    "explanation",
    "outputs",
];

#[test]
fn the_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut expected = Vec::new();
    builder.generate().unwrap().write(&mut expected);
    let expected = String::from_utf8(expected).unwrap();
    let file = root.join("include/kprof.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{} is stale: BLESS=1 cargo test -p kprof-c --test header",
        file.display()
    );
    // The header declares every function of the library, and no other function.
    let exported = SOURCES.iter().flat_map(|source| {
        let text = std::fs::read_to_string(root.join(format!("src/{source}.rs"))).unwrap();
        let names = text.split("extern \"C\" fn kprof_").skip(1);
        names.map(|rest| rest.split('(').next().unwrap().to_owned()).collect::<Vec<_>>()
    });
    let exported: Vec<String> = exported.collect();
    assert!(exported.len() >= 25, "{exported:?}");
    for name in exported {
        assert!(found.contains(&format!("kprof_{name}(")), "kprof_{name} is not declared");
    }
}
