//! Writes the list of this crate's own files, which the module carries: whoever loads it can see what it was built from.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn list_rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list_rust_files(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut paths = vec![root.join("Cargo.toml"), root.join("crates.lock"), root.join("build.rs")];
    list_rust_files(&root.join("src"), &mut paths)?;
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths.iter().filter(|path| path.is_file()) {
        let name = path.strip_prefix(&root).expect("it is below").to_str().expect("names are ASCII").replace('\\', "/");
        writeln!(list, "    ({name:?}, include_bytes!({path:?}) as &[u8]),").expect("a String takes everything");
        println!("cargo::rerun-if-changed={}", path.display());
    }
    list.push_str("]\n");
    println!("cargo::rerun-if-changed=src");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("sources.rs"), list)
}
