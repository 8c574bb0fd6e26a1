//! Counts the copies that sync programs made of files.

use std::collections::BTreeMap;

use brain_page::{CopyProgram, program_copy};

/// The copies that programs made of other files of a source.
#[derive(Default)]
pub(super) struct Copies(BTreeMap<CopyProgram, (u64, String)>);

impl Copies {
    /// Counts the file if its name is that of a copy.
    pub(super) fn add(&mut self, path: &str) {
        if let Some(copy) = program_copy(path) {
            self.0.entry(copy.program).or_insert_with(|| (0, path.to_owned())).0 += 1;
        }
    }

    /// Returns the number of copies that each program made, and the path of the first one.
    pub(super) fn by_program(&self) -> &BTreeMap<CopyProgram, (u64, String)> {
        &self.0
    }
}
