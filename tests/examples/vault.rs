//! Writes the vault of the tests to a new directory, for tests with other programs and for trying
//! brain out.

#![allow(clippy::expect_used)]

use std::path::PathBuf;

fn main() {
    let dir = std::env::args_os().nth(1).map(PathBuf::from);
    brain_tests::vault::write(&dir.expect("usage: brain-vault DIRECTORY"));
}
