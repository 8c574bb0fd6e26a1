//! Copies or downloads the files of a model into a directory.
//!
//! Completed downloads stay in the directory, so that the next attempt resumes.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode};
use url::Url;

use super::known_models::{OPTIONAL_FILES, REQUIRED_FILES, WEIGHT_FILES};
use super::origin::{Location, ModelOrigin};
use brain_base::home::create_private_dir;
use brain_net::{DownloadError, Error as NetError, HttpClient};

/// Maximum size of copied weights, in bytes.
const MAX_WEIGHTS_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Maximum size of other copied files, in bytes.
const MAX_OTHER_BYTES: u64 = 128 * 1024 * 1024;
/// Size of the copy buffer, in bytes.
const BUFFER_BYTES: usize = 1024 * 1024;
/// Delays before an interrupted download is resumed, in seconds. After the last, it fails.
const RETRY_DELAYS: [u64; 3] = [1, 3, 9];
/// The file that names the origin of an incomplete directory.
const ORIGIN_FILE: &str = "brain-from";

/// Receives the completed bytes of a file, and its total or 0 if that is unknown. Returns `false`
/// to cancel the work.
pub type ProgressListener<'a> = &'a dyn Fn(u64, u64) -> bool;

/// Collects the files of a model in `dir` and returns the name of the file with the weights.
///
/// # Errors
/// `not_found` for a missing file; `cancelled` if `progress` cancels the work; otherwise the fault
/// of the copy or download.
pub fn collect_files(
    origin: &ModelOrigin,
    dir: &Path,
    net: &dyn HttpClient,
    progress: ProgressListener<'_>,
) -> Result<&'static str, Fault> {
    let origin_text =
        format!("{} {}\n", origin.location.text(), origin.weights.as_deref().unwrap_or_default());
    let is_same_origin =
        fs::read_to_string(dir.join(ORIGIN_FILE)).is_ok_and(|text| text == origin_text);
    if !is_same_origin || matches!(origin.location, Location::Directory(_)) {
        remove_if_exists(dir)?;
        create_private_dir(dir)
            .and_then(|()| fs::write(dir.join(ORIGIN_FILE), origin_text))
            .map_err(|e| model_file_fault(dir, &e))?;
    }
    let get_file = |name: &str, to: &str, max_bytes: u64| match &origin.location {
        Location::Directory(source) => copy(&source.join(name), &dir.join(to), max_bytes, progress),
        Location::Web(base) => fetch(base, name, &dir.join(to), net, progress),
    };
    for name in REQUIRED_FILES {
        if !get_file(name, name, MAX_OTHER_BYTES)? {
            return Err(missing_file(origin, name));
        }
    }
    for name in OPTIONAL_FILES {
        get_file(name, name, MAX_OTHER_BYTES)?;
    }
    if let Some((query, document)) = origin.known.and_then(|known| known.prefixes) {
        let path = dir.join("config_sentence_transformers.json");
        if !path.exists() {
            let prompts =
                serde_json::json!({ "prompts": { "query": query, "document": document } });
            fs::write(&path, prompts.to_string()).map_err(|e| model_file_fault(&path, &e))?;
        }
    }
    let weights: Vec<(&str, &'static str)> = match &origin.weights {
        Some(name) if name.ends_with(".onnx") => vec![(name, "model.onnx")],
        Some(name) => vec![(name, "model.safetensors")],
        None => WEIGHT_FILES.map(|name| (name, name)).to_vec(),
    };
    for (name, to) in weights {
        if get_file(name, to, MAX_WEIGHTS_BYTES)? {
            fs::remove_file(dir.join(ORIGIN_FILE)).map_err(|e| model_file_fault(dir, &e))?;
            return Ok(to);
        }
    }
    Err(missing_file(origin, &WEIGHT_FILES.join(" or ")))
}

/// Removes a file or directory if it exists.
///
/// # Errors
/// A fault with the path if it cannot be removed.
pub fn remove_if_exists(path: &Path) -> Result<(), Fault> {
    let result = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match result {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(model_file_fault(path, &e)),
        _ => Ok(()),
    }
}

/// Converts a write error into a fault with a hint.
pub fn model_file_fault(path: &Path, error: &io::Error) -> Fault {
    let message = format!("{} cannot be written: {error}", path.display());
    let code = brain_base::write_code(error);
    Fault::new(code, message).hint(match code {
        FaultCode::DiskFull => "make room there, and run it again; a download resumes",
        FaultCode::ReadOnly => "make that directory writable, and run it again",
        _ => "run it again; a download resumes",
    })
}

/// Returns the fault for a cancelled installation.
pub fn cancelled() -> Fault {
    Fault::new(FaultCode::Cancelled, "the model was not installed: the caller cancelled it")
        .hint("run it again: downloaded files are kept")
}

fn missing_file(origin: &ModelOrigin, name: &str) -> Fault {
    let message = format!("there is no {name} at {}", origin.location.text());
    Fault::new(FaultCode::NotFound, message).hint(
        "a model's directory has config.json, tokenizer.json, and model.safetensors or model.onnx",
    )
}

/// Copies a file of at most `max_bytes`. Returns `false` if `from` does not exist.
fn copy(
    from: &Path,
    to: &Path,
    max_bytes: u64,
    progress: ProgressListener<'_>,
) -> Result<bool, Fault> {
    let read_failed = |e: &io::Error| {
        Fault::new(FaultCode::Io, format!("{} cannot be read: {e}", from.display()))
            .hint("check its permissions")
    };
    let mut source = match File::open(from) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        opened => opened.map_err(|e| read_failed(&e))?,
    };
    let meta = source.metadata().map_err(|e| read_failed(&e))?;
    if !meta.is_file() || meta.len() > max_bytes {
        let message =
            format!("{} is not a file of at most {} MB", from.display(), max_bytes / 1_000_000);
        return Err(Fault::new(FaultCode::TooLarge, message)
            .hint("check that this is the model's directory"));
    }
    let write_failed = |e: &io::Error| model_file_fault(to, e);
    if let Some(parent) = to.parent() {
        create_private_dir(parent).map_err(|e| write_failed(&e))?;
    }
    let mut target = File::create(to).map_err(|e| write_failed(&e))?;
    let (mut buffer, mut bytes) = (vec![0; BUFFER_BYTES], 0);
    loop {
        let n = source.read(&mut buffer).map_err(|e| read_failed(&e))?;
        let Some(read) = buffer.get(..n).filter(|read| !read.is_empty()) else { break };
        target.write_all(read).map_err(|e| write_failed(&e))?;
        bytes += n as u64;
        if !progress(bytes, meta.len()) {
            return Err(cancelled());
        }
    }
    target.sync_all().map_err(|e| write_failed(&e))?;
    Ok(true)
}

/// Downloads a file, unless `to` exists from an earlier attempt. Returns `false` if the server does
/// not have the file.
fn fetch(
    base: &Url,
    name: &str,
    to: &Path,
    net: &dyn HttpClient,
    progress: ProgressListener<'_>,
) -> Result<bool, Fault> {
    if to.exists() {
        return Ok(true);
    }
    let url = base.join(name).map_err(|e| Fault::new(FaultCode::Usage, e.to_string()))?;
    let mut part = to.to_owned().into_os_string();
    part.push(".part");
    let part = Path::new(&part);
    if let Some(parent) = to.parent() {
        create_private_dir(parent).map_err(|e| model_file_fault(parent, &e))?;
    }
    let mut delays = RETRY_DELAYS.into_iter();
    loop {
        // Without a length there is no progress bar, but the download continues.
        let error = match net
            .download(url.as_str(), part, &mut |bytes, of| progress(bytes, of.unwrap_or(0)))
        {
            Ok(_) => {
                fs::rename(part, to).map_err(|e| model_file_fault(to, &e))?;
                return Ok(true);
            }
            Err(DownloadError::Stopped) => return Err(cancelled()),
            Err(DownloadError::Disk(e)) => return Err(model_file_fault(part, &e)),
            Err(DownloadError::Request(NetError::Status(404 | 410))) => return Ok(false),
            Err(DownloadError::Request(error)) => error,
        };
        let is_transient = matches!(
            error,
            NetError::ConnectionBroken(_)
                | NetError::Timeout(_)
                | NetError::ConnectTimeout
                | NetError::Status(429 | 500..)
        );
        match delays.next().filter(|_| is_transient) {
            Some(seconds) => wait(seconds, progress)?,
            None => return Err(fetch_fault(&url, &error)),
        }
    }
}

/// Returns the fault of a failed download.
fn fetch_fault(url: &Url, error: &NetError) -> Fault {
    let hint = match error {
        NetError::Status(401 | 403) => {
            "access is restricted: download the files yourself, and give their directory"
        }
        NetError::NotPublic | NetError::InvalidAddress(_) => {
            "brain downloads from public https addresses only: download the files yourself, and \
             give their directory"
        }
        _ => "run it again to resume; or download the files elsewhere, and give their directory",
    };
    Fault::new(FaultCode::Io, format!("{url} cannot be fetched: {error}")).hint(hint)
}

/// Waits for this many seconds unless the work is cancelled.
fn wait(seconds: u64, progress: ProgressListener<'_>) -> Result<(), Fault> {
    for _ in 0..seconds * 5 {
        std::thread::sleep(Duration::from_millis(200));
        if !progress(0, 0) {
            return Err(cancelled());
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::models::known_models::find_known;

    /// A fake web server.
    struct Web {
        /// The end of each URL, and the file that it serves.
        files: Vec<(&'static str, &'static str)>,
        /// Number of interruptions left before the weights can be downloaded completely.
        interruptions: Mutex<usize>,
        requested_urls: Mutex<Vec<String>>,
    }

    impl HttpClient for Web {
        fn download(
            &self,
            url: &str,
            to: &Path,
            on: &mut dyn FnMut(u64, Option<u64>) -> bool,
        ) -> Result<u64, DownloadError> {
            self.requested_urls.lock().unwrap().push(url.to_owned());
            let found = self.files.iter().find(|(name, _)| url.ends_with(name));
            let Some((_, text)) = found else { return Err(NetError::Status(404).into()) };
            let mut interruptions = self.interruptions.lock().unwrap();
            if url.ends_with("model.safetensors") && *interruptions > 0 {
                *interruptions -= 1;
                fs::write(to, &text[..1])?;
                return Err(NetError::ConnectionBroken("cut".into()).into());
            }
            if !on(1, Some(text.len() as u64)) {
                fs::write(to, &text[..1])?;
                return Err(DownloadError::Stopped);
            }
            fs::write(to, text)?;
            Ok(text.len() as u64)
        }
    }

    const FILES: [(&str, &str); 4] = [
        // The first match is served.
        ("/1_Pooling/config.json", "p"),
        ("/tokenizer.json", "t"),
        ("/config.json", "c"),
        ("/model.safetensors", "weights"),
    ];

    fn web(files: &[(&'static str, &'static str)], interruptions: usize) -> Web {
        Web {
            files: files.to_vec(),
            interruptions: Mutex::new(interruptions),
            requested_urls: Mutex::default(),
        }
    }

    fn hub(name: &str) -> ModelOrigin {
        let known = find_known(name).unwrap();
        let url = format!("https://huggingface.co/{}/resolve/main/", known.repository);
        let location = Location::Web(Url::parse(&url).unwrap());
        ModelOrigin { name: known.name.into(), location, weights: None, known: Some(known) }
    }

    #[test]
    fn interrupted_download_is_resumed() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("m.tmp");
        let web = web(&FILES, 1);
        let origin = hub("all-minilm-l6-v2");
        // The caller cancels at the weights: only they have 7 bytes.
        let fault = collect_files(&origin, &dir, &web, &|_, total| total != 7).unwrap_err();
        assert_eq!(fault.code, FaultCode::Cancelled);
        let before = web.requested_urls.lock().unwrap().len();
        assert_eq!(collect_files(&origin, &dir, &web, &|_, _| true).unwrap(), "model.safetensors");
        let urls: Vec<String> = web.requested_urls.lock().unwrap()[before..].to_vec();
        assert!(urls.iter().all(|url| !url.ends_with("/tokenizer.json")), "{urls:?}");
        assert_eq!(fs::read(dir.join("model.safetensors")).unwrap(), b"weights");
        assert_eq!(fs::read(dir.join("1_Pooling/config.json")).unwrap(), b"p");
        assert!(!dir.join(ORIGIN_FILE).exists() && !dir.join("model.safetensors.part").exists());
    }

    #[test]
    fn files_of_another_origin_are_discarded() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("m.tmp");
        create_private_dir(&dir).unwrap();
        fs::write(dir.join(ORIGIN_FILE), "https://elsewhere.example/\n").unwrap();
        fs::write(dir.join("tokenizer.json"), "other").unwrap();
        collect_files(&hub("multilingual-e5-small"), &dir, &web(&FILES, 0), &|_, _| true).unwrap();
        assert_eq!(fs::read(dir.join("tokenizer.json")).unwrap(), b"t");
        let prompts = fs::read_to_string(dir.join("config_sentence_transformers.json")).unwrap();
        assert!(prompts.contains("query: ") && prompts.contains("passage: "), "{prompts}");
    }

    #[test]
    fn missing_file_is_named() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("m.tmp");
        let origin = hub("all-minilm-l6-v2");
        for (index, name) in [(1, "tokenizer.json"), (3, "model.safetensors or model.onnx")] {
            let mut files = FILES.to_vec();
            files.remove(index);
            let fault = collect_files(&origin, &dir, &web(&files, 0), &|_, _| true).unwrap_err();
            assert_eq!(fault.code, FaultCode::NotFound);
            assert!(fault.message.contains(name), "{fault}");
        }
        let source = home.path().join("source");
        create_private_dir(&source).unwrap();
        let origin = ModelOrigin {
            name: "x".into(),
            location: Location::Directory(source.clone()),
            weights: None,
            known: None,
        };
        assert!(collect_files(&origin, &dir, &web(&[], 0), &|_, _| true).is_err());
        for (name, text) in FILES {
            let to = source.join(name.trim_start_matches('/'));
            create_private_dir(to.parent().unwrap()).unwrap();
            fs::write(to, text).unwrap();
        }
        let origin = ModelOrigin { weights: Some("model.safetensors".into()), ..origin };
        assert_eq!(
            collect_files(&origin, &dir, &web(&[], 0), &|_, _| true).unwrap(),
            "model.safetensors"
        );
        assert_eq!(fs::read(dir.join("1_Pooling/config.json")).unwrap(), b"p");
        let fault = collect_files(&origin, &dir, &web(&[], 0), &|_, _| false).unwrap_err();
        assert_eq!(fault.code, FaultCode::Cancelled);
    }

    #[test]
    fn full_disk_is_reported() {
        let fault = model_file_fault(Path::new("/x"), &io::Error::from(ErrorKind::StorageFull));
        assert_eq!(fault.code, FaultCode::DiskFull);
        assert!(fault.hint.unwrap().to_string().contains("make room"));
    }
}
