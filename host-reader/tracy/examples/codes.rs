//! Prints the code of an item kind for every version of the protocol.
//!
//! `cargo run -p kprof-tracy --example codes`

use tracy::protocol::{ItemKind, TracyProtocol};

fn main() {
    for protocol in TracyProtocol::all() {
        let code = protocol.code(ItemKind::ZoneEnd);
        let bytes = protocol.form(ItemKind::ZoneEnd);
        println!("{} ({}): {code:?}, {bytes:?}", protocol.number, protocol.releases);
    }
}

#[test]
fn every_version_ends_zones() {
    main();
    assert!(TracyProtocol::all().iter().all(|known| known.code(ItemKind::ZoneEnd).is_some()));
}
