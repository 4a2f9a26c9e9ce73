//! From addresses of a process to functions, lines and bytes.

use super::debug_file;
use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use proofmark_analyze::Frame;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Paths of code that is attributed to its caller: the standard library, and our vector types,
/// which are thin wrappers around instructions.
const LIBRARIES: [&str; 3] = ["/library/", "/rustc/", "crates/simd/"];

/// A part of a file in a process.
#[derive(Clone, Debug, PartialEq)]
struct Map {
    start: u64,
    end: u64,
    offset: u64,
    path: PathBuf,
}

/// The files of a process where code lies.
pub(super) struct Symbols {
    maps: Vec<Map>,
    files: BTreeMap<PathBuf, Option<File>>,
}

/// A file of code.
struct File {
    loader: Loader,
    /// Offset in the file, length and address of what is loaded.
    segments: Vec<(u64, u64, u64)>,
}

/// A function in its file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Symbols {
    /// Those of a process, from its `/proc/PID/maps`.
    pub(super) fn of(maps: &str) -> Symbols {
        Symbols { maps: maps.lines().filter_map(map).collect(), files: BTreeMap::new() }
    }

    /// The file and the address within it, as its symbols count.
    pub(super) fn place(&mut self, address: u64) -> Option<(PathBuf, u64)> {
        let map = self.maps.iter().find(|map| (map.start..map.end).contains(&address))?.clone();
        let at = address - map.start + map.offset;
        let file = self.file(&map.path)?;
        let within =
            |(offset, length, _): &&(u64, u64, u64)| (*offset..offset + length).contains(&at);
        let (offset, _, start) = file.segments.iter().find(within)?;
        Some((map.path, at - offset + start))
    }

    fn file(&mut self, path: &Path) -> Option<&File> {
        let open = || {
            let bytes = std::fs::read(path).ok()?;
            let object = object::File::parse(&*bytes).ok()?;
            let segments = object.segments().map(|segment| {
                let (offset, length) = segment.file_range();
                (offset, length, segment.address())
            });
            let lines = debug_file::find(path, &object);
            let loader = Loader::new(lines.as_deref().unwrap_or(path)).ok()?;
            Some(File { segments: segments.collect(), loader })
        };
        self.files.entry(path.to_owned()).or_insert_with(open).as_ref()
    }

    /// The functions at an address: the compiled one first, then those inlined into it.
    pub(super) fn frames(&mut self, address: u64) -> Vec<Frame> {
        let unknown = |name: String| vec![Frame { function: name, place: None, is_library: false }];
        let Some((path, at)) = self.place(address) else {
            return unknown("[unknown]".to_owned());
        };
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let Some(Some(file)) = self.files.get(&path) else { return unknown(name) };
        let mut frames = Vec::new();
        if let Ok(mut found) = file.loader.find_frames(at) {
            while let Ok(Some(frame)) = found.next() {
                let function = frame.function.as_ref().and_then(|name| name.demangle().ok());
                let location = frame.location.as_ref();
                let path = location.and_then(|location| location.file).unwrap_or_default();
                let line = location.and_then(|location| location.line);
                frames.push(Frame {
                    function: qualified(&function.unwrap_or("?".into()), short(path)),
                    place: line.map(|line| format!("{}:{line}", short(path))),
                    is_library: LIBRARIES.iter().any(|library| path.contains(library)),
                });
            }
        }
        frames.reverse();
        if frames.is_empty() {
            // A library without symbols becomes one row, because raw addresses tell a reader
            // nothing.
            return unknown(file.loader.find_symbol(at).map_or(name, demangled));
        }
        frames
    }
}

/// The name with the module of its file, because debug lines leave the module out.
fn qualified(function: &str, path: &str) -> String {
    let Some(file) = path.strip_prefix("crates/") else {
        return function.to_owned();
    };
    let module = file.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
    format!("{}::{function}", module.replace("/src", "").replace('/', "::"))
}

/// The path from `crates/` on, or its last two parts.
fn short(path: &str) -> &str {
    if let Some(at) = path.find("crates/") {
        return &path[at..];
    }
    let cut = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    &path[cut..]
}

fn demangled(symbol: &str) -> String {
    addr2line::demangle_auto(symbol.into(), None).into_owned()
}

/// The functions of a file that hold some addresses, in the order of these.
pub(crate) fn functions(path: &Path, addresses: &[u64]) -> Option<Vec<Function>> {
    let data = std::fs::read(path).ok()?;
    let object = object::File::parse(&*data).ok()?;
    let symbols: Vec<_> = object.symbols().filter(|s| s.kind() == SymbolKind::Text).collect();
    let mut found: Vec<Function> = Vec::new();
    for &address in addresses {
        let holds = |start: u64, size: u64| (start..start + size).contains(&address);
        if found.iter().any(|f| holds(f.address, f.bytes.len() as u64)) {
            continue;
        }
        let Some(symbol) = symbols.iter().find(|s| holds(s.address(), s.size())) else { continue };
        let section = object.section_by_index(symbol.section_index()?).ok()?;
        let bytes = section.data_range(symbol.address(), symbol.size()).ok()??;
        let name = demangled(symbol.name().ok()?);
        found.push(Function { name, address: symbol.address(), bytes: bytes.to_vec() });
    }
    Some(found)
}

/// A line of `/proc/PID/maps` that maps code of a file.
fn map(line: &str) -> Option<Map> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (rights, offset) = (words.next()?, words.next()?);
    let path = words.nth(2)?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    (rights.contains('x') && path.starts_with('/')).then_some(())?;
    Some(Map {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        path: PathBuf::from(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_code_are_read_and_others_are_not() {
        let line = "55d0-66e0 r-xp 00001000 08:01 1234                       /usr/bin/thing";
        let map_of = map(line).unwrap();
        assert_eq!((map_of.start, map_of.end, map_of.offset), (0x55d0, 0x66e0, 0x1000));
        for other in ["55d0-66e0 r--p 00001000 08:01 12 /usr/bin/thing", "1-2 r-xp 0 0:0 0", ""] {
            assert_eq!(map(other), None, "{other}");
        }
    }

    #[test]
    fn paths_are_shortened_to_what_a_reader_knows() {
        assert_eq!(short("/x/p/crates/ops/src/lib.rs"), "crates/ops/src/lib.rs");
        assert_eq!(short("/rustc/abc/library/core/src/ops.rs"), "src/ops.rs");
        assert_eq!(qualified("run<f32>", "crates/ops/src/row/mod.rs"), "ops::row::run<f32>");
        assert_eq!(qualified("main", "crates/cli/src/lib.rs"), "cli::main");
        assert_eq!(qualified("fmadd", "src/ops.rs"), "fmadd");
    }

    /// A file of one loaded page and no symbols: an ELF header and one segment.
    fn stripped() -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let halves =
            |values: &[u16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        let words =
            |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        let longs =
            |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        // A shared library for x86-64; the segment's header follows at 64.
        bytes.extend(halves(&[3, 62]));
        bytes.extend(words(&[1]));
        bytes.extend(longs(&[0, 64, 0]));
        bytes.extend(words(&[0]));
        bytes.extend(halves(&[64, 56, 1, 64, 0, 0]));
        // Loaded, to be read and run: the whole page at address 0.
        bytes.extend(words(&[1, 5]));
        bytes.extend(longs(&[0, 0, 0, 4096, 4096, 4096]));
        bytes.resize(4096, 0);
        bytes
    }

    #[test]
    fn a_library_without_symbols_is_one_row_whatever_the_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libplain.so.6");
        std::fs::write(&path, stripped()).unwrap();
        let maps = format!("10000-11000 r-xp 00000000 08:01 12 {}", path.display());
        let mut symbols = Symbols::of(&maps);
        assert!(symbols.place(0x10200).is_some(), "the file is read");
        for address in [0x10200, 0x10bc9] {
            let frames = symbols.frames(address);
            let names: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
            assert_eq!(names, ["libplain.so.6"]);
        }
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_address() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut symbols = Symbols::of(&maps);
        let address = map as *const () as u64;
        let (path, at) = symbols.place(address).unwrap();
        let found = functions(&path, &[at]).unwrap();
        assert!(found[0].name.contains("symbols::map"), "{}", found[0].name);
        assert!(!found[0].bytes.is_empty());
        let frames = symbols.frames(address);
        assert_eq!(frames[0].function, "engine::profile::symbols::map");
    }
}
