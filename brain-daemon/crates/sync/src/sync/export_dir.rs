//! Where an export keeps files of pages whose name is taken beside the page.

use std::path::{Path, PathBuf};

/// Returns the directory for a file of the page at `page_path` if another file has its name beside
/// the page.
pub(crate) fn export_dir(page_path: &Path) -> PathBuf {
    Path::new("attachments").join(page_path.with_extension(""))
}
