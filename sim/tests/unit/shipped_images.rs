//! Comparison of the shipped object code with images built from its sources.

use super::EMBEDDED;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
};

/// Digest of the sources, as computed by the build script.
const INPUTS: &str = env!("OBJECT_CODE_INPUTS");

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build").join(name)
}

/// Returns the list and the bytes of the Rust images that this build has compiled.
fn compiled() -> (String, Vec<u8>) {
    let mut list = format!("inputs {INPUTS}\n");
    let mut bytes = Vec::new();
    for image in EMBEDDED.iter().filter(|image| !image.part.starts_with("cpp_")) {
        let super::EmbeddedImage { arch, mode, has_sums, part, processor, elf, .. } = image;
        writeln!(list, "{arch} {mode:?} {has_sums} {part} {processor} {}", elf.len()).unwrap();
        bytes.extend_from_slice(elf);
    }
    (list, bytes)
}

/// Compresses bytes with the program `zstd`, using a window that contains every earlier image.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let options = ["-19", "--long=24", "--quiet", "--stdout"];
    let mut zstd = Command::new("zstd");
    zstd.args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = zstd.spawn().expect("the program `zstd` is installed");
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_owned();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Returns everything that a run uses from an image: the bytes of its sections, its symbols, and
/// the texts of its zones.
///
/// The result is sorted, because the order of the texts depends on the repository's folder.
fn contents(elf: &[u8]) -> Vec<String> {
    let file = object::File::parse(elf).unwrap();
    let mut lines = Vec::new();
    for section in file.sections() {
        let (name, data) = (section.name().unwrap(), section.data().unwrap());
        match name {
            kernel_profiler::names::SECTION => lines.extend(
                data.split(|&byte| byte == 0)
                    .map(|text| String::from_utf8_lossy(text).into_owned()),
            ),
            ".symtab" | ".strtab" => {}
            _ => lines.push(format!("{name} {:#x} {data:?}", section.address())),
        }
    }
    // Names of Rust functions end in a hash, which also depends on the folder.
    lines.extend(file.symbols().map(|symbol| {
        format!(
            "{} {:#x} {}",
            symbol.name().unwrap().split("17h").next().unwrap(),
            symbol.address(),
            symbol.size()
        )
    }));
    lines.sort();
    lines
}

/// Compares the images; set `BLESS=1` and `KPROF_OBJECT_CODE=compile` to ship the compiled images.
#[test]
fn the_shipped_object_code_is_what_its_sources_give() {
    let (list, bytes) = compiled();
    if std::env::var_os("BLESS").is_some() {
        fs::write(file("images.txt"), &list).unwrap();
        fs::write(file("images.zst"), compressed(&bytes)).unwrap();
    }
    let remedy = "BLESS=1 KPROF_OBJECT_CODE=compile cargo test -p kprof-sim --lib shipped_images";
    assert_eq!(fs::read_to_string(file("images.txt")).unwrap(), list, "{remedy}");
    let shipped = fs::read(file("images.zst")).unwrap();
    let mut stream = ruzstd::decoding::StreamingDecoder::new(&*shipped).unwrap();
    for image in EMBEDDED.iter().filter(|image| !image.part.starts_with("cpp_")) {
        let mut unpacked = vec![0; image.elf.len()];
        stream.read_exact(&mut unpacked).unwrap();
        assert!(
            contents(&unpacked) == contents(image.elf),
            "{}/{:?}/{}-{} differs; {remedy}",
            image.arch,
            image.mode,
            image.part,
            image.processor
        );
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "images that the list does not name");
}
