//! The shipped object code: images of the firmware and kernels that are written in Rust. The images
//! are built by CI's compiler, and CI compares them with images built from the current sources.
//!
//! `images.txt` contains a digest of the sources, then the list of the images. `images.zst`
//! contains the bytes of the images, one after another, compressed as Zstandard. If the digest does
//! not match the current sources, the build compiles the sources and does not use the shipped
//! images.

use crate::{
    MODES,
    objects::{
        ARCHITECTURES, Build, Linked, PROCESSORS, Result, SOURCES, Variant, announce, digest,
        variable,
    },
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Environment variable; if set to `compile`, a build always compiles the object code.
const CHOICE: &str = "KPROF_OBJECT_CODE";

/// Shipped images that have not been unpacked yet.
pub(super) struct Archive {
    list: String,
    bytes: PathBuf,
}

impl Archive {
    /// Returns the shipped images; `None` if they do not match the sources, or the environment
    /// asks to compile the sources. A cargo package has no sources, and always uses the images.
    pub(super) fn find(inputs: Option<u64>) -> Result<Option<Self>> {
        println!("cargo:rerun-if-env-changed={CHOICE}");
        let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let [list, bytes] =
            ["images.txt", "images.zst"].map(|name| package.join("build").join(name));
        for path in [&list, &bytes] {
            announce(path);
        }
        let is_unwanted = std::env::var(CHOICE).is_ok_and(|choice| choice == "compile");
        let list = fs::read_to_string(list)?;
        let (first, list) = list.split_once('\n').ok_or("images.txt has no lines")?;
        let is_used =
            inputs.is_none_or(|inputs| !is_unwanted && first == format!("inputs {inputs:016x}"));
        Ok(is_used.then(|| Self { list: list.to_owned(), bytes }))
    }

    /// Writes every image to the path at which the linker would have written it.
    pub(super) fn unpack(&self, build: &Build) -> Result<Vec<Linked>> {
        let compressed = fs::read(&self.bytes)?;
        let mut stream = ruzstd::decoding::StreamingDecoder::new(&*compressed)?;
        self.list.lines().map(|line| unpack_image(build, line, &mut stream)).collect()
    }
}

impl Build {
    /// Returns the digest of the sources of firmware and kernels in Rust; `None` in a cargo
    /// package, which does not contain these sources.
    pub(super) fn input_digest(&self) -> Result<Option<u64>> {
        if !self.objects.join("Cargo.toml").is_file() {
            return Ok(None);
        }
        let mut files = Vec::new();
        for input in SOURCES {
            add_files(&self.repository.join(input), &mut files)?;
        }
        let mut all = Vec::new();
        for path in files {
            let name = path.strip_prefix(&self.repository)?.to_string_lossy().into_owned();
            all.extend_from_slice(name.as_bytes());
            all.extend(fs::read(&path)?);
        }
        Ok(Some(digest(&all)))
    }
}

/// Adds the file at a path or all files below it, sorted by name.
fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| add_files(entry, files))
}

/// Reads one image from `stream`, which contains the decompressed `images.zst`, and writes the
/// image to a file. `line` is the image's line in `images.txt`.
fn unpack_image(build: &Build, line: &str, stream: &mut impl std::io::Read) -> Result<Linked> {
    let wrong = || format!("images.txt: expected an image, found `{line}`");
    let fields: Vec<&str> = line.split(' ').collect();
    let [arch, mode, sums, part, processor, length] = fields[..] else {
        return Err(wrong().into());
    };
    let known = |names: &[&'static str], name: &str| {
        names.iter().copied().find(|known| *known == name).ok_or_else(wrong)
    };
    let mode = MODES.iter().find(|(_, name)| *name == mode).map(|(feature, _)| *feature);
    let plain = Variant::plain(known(&ARCHITECTURES, arch)?);
    let variant = Variant { sums: sums == "true", ..plain.in_mode(mode) };
    let processor = known(&PROCESSORS, processor)?;
    let mut bytes = vec![0; length.parse()?];
    stream.read_exact(&mut bytes)?;
    let path = variant.directory(build)?.join(format!("{part}-{processor}.elf"));
    fs::write(&path, &bytes)?;
    Ok(Linked { variant, part: part.to_owned(), processor, path, digest: digest(&bytes) })
}

impl Variant {
    /// Returns this variant with its mode replaced by `mode`. In the mode `relay`, the firmware has
    /// no profiler.
    pub(crate) fn in_mode(self, mode: Option<&'static str>) -> Self {
        Self { mode, enabled: mode != Some("relay"), ..self }
    }
}
