//! Replaces a file atomically: a reader sees the old text or the new text, never a mixture.

use recording::whole_file::write_whole_file;
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::Path,
};

/// Writes lines to a file. If the write fails midway, the file is unchanged.
fn write_lines(path: &Path, lines: &[&str]) -> io::Result<()> {
    write_whole_file(path, |out| {
        lines.iter().try_for_each(|line| {
            if line.contains('\n') {
                return Err(io::Error::other("expected one line, found two"));
            }
            writeln!(out, "{line}")
        })
    })
}

/// Returns the text of the file after a write, and after a write that fails.
fn texts() -> Result<[String; 2], Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("report.txt");
    write_lines(&path, &["whole"])?;
    let whole = fs::read_to_string(&path)?;
    if let Err(error) = write_lines(&path, &["first", "second\nthird"]) {
        println!("refused: {error}");
    }
    Ok([whole, fs::read_to_string(&path)?])
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", texts()?);
    Ok(())
}

#[test]
fn a_refused_write_changes_nothing() {
    assert_eq!(texts().unwrap(), ["whole\n", "whole\n"]);
}
