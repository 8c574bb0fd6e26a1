//! Finds the tiddlers of a wiki: a directory, or a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::entry::{Found, Location, Part, extension, load};
use super::single_file;
use brain_convert_base::ConvertError;

/// Maximum depth of folders.
const MAX_DEPTH: usize = 32;
/// Calls `found` for each tiddler of the file or directory, in a fixed order.
///
/// # Errors
/// [`ConvertError::Read`] and [`ConvertError::Malformed`], after the tiddlers before the error.
pub(super) fn scan(path: &Path, found: &mut dyn Found) -> Result<(), ConvertError> {
    if path.is_dir() {
        let tiddlers = path.join("tiddlers");
        let is_wiki = fs::symlink_metadata(&tiddlers).is_ok_and(|it| it.is_dir());
        let root = if is_wiki { tiddlers } else { path.to_owned() };
        return directory(&root, "", 0, found);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    match extension(&name).as_str() {
        "tid" => {
            let location = Location { file: Rc::new(path.to_owned()), part: Part::Tid };
            match load(&location) {
                Ok(tiddler) => found.tiddler(&name, location, &tiddler),
                Err(reason) => found.lost(name, &reason),
            }
            Ok(())
        }
        _ => single_file::scan(path, &name, found),
    }
}

fn directory(
    root: &Path,
    prefix: &str,
    depth: usize,
    found: &mut dyn Found,
) -> Result<(), ConvertError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(ConvertError::read(root))? {
        names.push(entry.map_err(ConvertError::read(root))?.file_name());
    }
    names.sort_unstable();
    for name in &names {
        let path = root.join(name);
        let shown = format!("{prefix}{}", name.to_string_lossy());
        let kind = fs::symlink_metadata(&path).map_err(ConvertError::read(&path))?.file_type();
        if kind.is_dir() && depth < MAX_DEPTH {
            directory(&path, &format!("{shown}/"), depth + 1, found)?;
        } else if !kind.is_file() {
            found.lost(shown, "it is a symbolic link or no regular file, which is not followed");
        } else if !(shown.ends_with(".meta") && names.contains(&without_meta(name))) {
            let mut meta = name.clone();
            meta.push(".meta");
            let has_meta = fs::symlink_metadata(root.join(meta)).is_ok_and(|it| it.is_file());
            file(path, &shown, has_meta, found)?;
        }
    }
    Ok(())
}

fn without_meta(name: &std::ffi::OsStr) -> std::ffi::OsString {
    let path = Path::new(name);
    path.file_stem().map(std::ffi::OsStr::to_owned).unwrap_or_default()
}

fn file(
    path: PathBuf,
    name: &str,
    has_meta: bool,
    found: &mut dyn Found,
) -> Result<(), ConvertError> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let part = match extension(base).as_str() {
        "tid" => Part::Tid,
        "json" if !has_meta && base != "tiddlywiki.files" => {
            return single_file::scan(&path, name, found);
        }
        "files" if base == "tiddlywiki.files" => {
            found.lost(name.to_owned(), "it names files in other places, which are not read");
            return Ok(());
        }
        "info" if base == "tiddlywiki.info" || base == "plugin.info" => return Ok(()),
        "multids" => {
            found.lost(name.to_owned(), "files with several texts of the program are not read");
            return Ok(());
        }
        _ if base.starts_with('.') => return Ok(()),
        _ => Part::Whole { has_meta },
    };
    let location = Location { file: Rc::new(path), part };
    match load(&location) {
        Ok(mut tiddler) => {
            let title = base.strip_suffix(".tid").unwrap_or(base);
            tiddler.fields.entry("title".to_owned()).or_insert_with(|| title.to_owned());
            found.tiddler(name, location, &tiddler);
        }
        Err(reason) => found.lost(name.to_owned(), &reason),
    }
    Ok(())
}
