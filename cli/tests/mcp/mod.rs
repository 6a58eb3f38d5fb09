//! Tests of `kprof mcp`: another project's client calls it, and the answers are compared with the
//! output of other commands.

#[cfg(feature = "mcp")]
mod claims;
#[cfg(feature = "mcp")]
mod client;
#[cfg(feature = "mcp")]
mod explained_rows;
#[cfg(feature = "mcp")]
mod lines;
#[cfg(feature = "mcp")]
mod questions;
#[cfg(feature = "mcp")]
mod rows;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod values;

#[cfg(not(feature = "mcp"))]
#[test]
fn a_build_without_the_protocol_says_how_to_get_it() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_kprof")).arg("mcp").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("`cargo build -p kprof --features mcp`"), "{errors}");
    assert_eq!((errors.lines().count(), output.stdout.len()), (1, 0));
}
