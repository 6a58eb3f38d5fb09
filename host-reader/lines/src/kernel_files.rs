//! Finding of the ELF file whose code was executed, among the files of a compiler's cache.

use object::{Object, ObjectSegment, read::ReadCache};
use std::{
    fs::File,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Kernels in a cache of TT-Metal.
///
/// # Compatibility
/// tt-metal 0.81 keeps a kernel in `kernels/NAME/HASH/brisc/brisc.elf` and, for the other RISCs,
/// likewise. Beside it, `brisc.elf.xip.elf` has the instructions as they are loaded.
#[derive(Debug, Default)]
pub struct KernelFiles {
    kernels: Vec<Kernel>,
}

/// A kernel's file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundKernel {
    /// The file, with debug information if there is any.
    pub path: PathBuf,
    /// Address of the first instruction.
    pub first_address: u32,
}

#[derive(Debug)]
struct Kernel {
    path: PathBuf,
    modified: Option<SystemTime>,
    first_address: u32,
    text: Vec<u8>,
}

impl KernelFiles {
    /// Reads the code of all kernels for a processor, such as `trisc0`, below a folder. Files that
    /// cannot be read are left out.
    #[must_use]
    pub fn below(folder: &Path, processor: &str) -> Self {
        let entries = |folder: &Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let mut kernels = Vec::new();
        for build in entries(folder) {
            for hash in entries(&build.join("kernels")).iter().flat_map(|name| entries(name)) {
                let path = hash.join(processor).join(format!("{processor}.elf"));
                kernels.extend(Kernel::read(path));
            }
        }
        kernels.sort_by(|a, b| (b.modified, &a.path).cmp(&(a.modified, &b.path)));
        Self { kernels }
    }

    /// Returns the file that has these instructions at these offsets from its first one; of several,
    /// the newest. `None` if no file has almost all of them: the host changes a few when it loads a
    /// kernel.
    #[must_use]
    pub fn find(&self, instructions: &[(u32, u32)]) -> Option<FoundKernel> {
        let allowed = instructions.len() / DIFFERENT_PART;
        let others = |kernel: &Kernel| {
            let others =
                instructions.iter().filter(|(offset, word)| kernel.at(*offset) != Some(*word));
            others.count()
        };
        let best = self.kernels.iter().min_by_key(|kernel| others(kernel))?;
        (!instructions.is_empty() && others(best) <= allowed)
            .then(|| FoundKernel { path: best.path.clone(), first_address: best.first_address })
    }
}

impl Kernel {
    fn read(path: PathBuf) -> Option<Self> {
        let modified = std::fs::metadata(&path).ok()?.modified().ok();
        let mut loaded = path.clone().into_os_string();
        loaded.push(".xip.elf");
        let (first_address, text) = code_of(Path::new(&loaded)).or_else(|| code_of(&path))?;
        Some(Self { path, modified, first_address, text })
    }

    fn at(&self, offset: u32) -> Option<u32> {
        let bytes = self.text.get(usize::try_from(offset).ok()?..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    }
}

/// Returns the address and the bytes of the segment in which a program begins.
fn code_of(path: &Path) -> Option<(u32, Vec<u8>)> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let elf = object::File::parse(&cache).ok()?;
    let segment = elf.segments().find(|segment| {
        let offset = elf.entry().checked_sub(segment.address());
        offset.is_some_and(|offset| offset < segment.size())
    })?;
    let text = segment.data().ok().filter(|text| text.len() <= CODE_BYTES_MAX)?;
    Some((u32::try_from(segment.address()).ok()?, text.to_vec()))
}

/// A file may have other instructions at one of so many addresses.
const DIFFERENT_PART: usize = 10;
/// Maximum size of a kernel; L1 is smaller.
const CODE_BYTES_MAX: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an ELF file with code at address 0x5000 and nothing else.
    fn write_elf(path: &Path, words: &[u32]) {
        let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut file = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let halves = |file: &mut Vec<u8>, all: &[u16]| {
            all.iter().for_each(|half| file.extend(half.to_le_bytes()));
        };
        let whole = |file: &mut Vec<u8>, all: &[u32]| {
            all.iter().for_each(|word| file.extend(word.to_le_bytes()));
        };
        halves(&mut file, &[2, 243]);
        whole(&mut file, &[1, 0x5000, 52, 0, 0]);
        halves(&mut file, &[52, 32, 1, 40, 0, 0]);
        let size = u32::try_from(text.len()).unwrap();
        whole(&mut file, &[1, 84, 0x5000, 0x5000, size, size, 5, 4]);
        file.extend(text);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
    }

    #[test]
    fn a_kernel_is_found_by_what_was_executed_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = |name: &str| folder.path().join("build/kernels").join(name).join("1/brisc");
        let numbers: Vec<u32> = (0..40).map(|number| number << 7 | 0x13).collect();
        write_elf(&kernel("reader").join("brisc.elf"), &numbers);
        let mut other = numbers.clone();
        other[7..].iter_mut().for_each(|word| *word ^= 1 << 20);
        write_elf(&kernel("writer").join("brisc.elf"), &other);
        // Loading has changed this one.
        write_elf(&kernel("loaded").join("brisc.elf"), &numbers);
        let loaded: Vec<u32> = numbers.iter().map(|word| word | 1 << 30).collect();
        write_elf(&kernel("loaded").join("brisc.elf.xip.elf"), &loaded);
        std::fs::write(kernel("reader").join("ncrisc.elf"), "no ELF file").unwrap();

        let files = KernelFiles::below(folder.path(), "brisc");
        let found = |words: &[u32], places: &[usize]| {
            let executed: Vec<_> =
                places.iter().map(|&at| (u32::try_from(4 * at).unwrap(), words[at])).collect();
            files.find(&executed)
        };
        let all: Vec<usize> = (0..40).collect();
        let at = |name: &str| {
            Some(FoundKernel { path: kernel(name).join("brisc.elf"), first_address: 0x5000 })
        };
        assert_eq!(found(&numbers, &all), at("reader"));
        assert_eq!(found(&other, &[0, 3, 9, 30]), at("writer"));
        assert_eq!(found(&loaded, &[1, 2, 3]), at("loaded"));
        let mut changed = numbers.clone();
        changed[5] = 0xFFFF_F0B7;
        assert_eq!(found(&changed, &all), at("reader"), "one address was changed");
        let unknown: Vec<u32> = numbers.iter().map(|word| word ^ 1 << 25).collect();
        assert_eq!(found(&unknown, &all), None);
        assert_eq!(files.find(&[]), None);
        assert_eq!(files.find(&[(4000, 0x13)]), None, "behind the code");
        assert_eq!(KernelFiles::below(folder.path(), "ncrisc").find(&[(0, numbers[0])]), None);
    }
}
