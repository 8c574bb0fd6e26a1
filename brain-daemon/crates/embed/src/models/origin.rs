//! Resolves a name, path or URL to the origin of a model. Sends no request.

use std::path::{Path, PathBuf};

use brain_protocol::{Fault, FaultCode, ModelInstall};
use url::Url;

use super::known_models::{HUB, KnownModel, WEIGHT_FILES, describe_known_models, find_known};

/// Maximum length of a model's name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// The origin and local name of a model.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelOrigin {
    /// The local name.
    pub name: String,
    /// The location of the files.
    pub location: Location,
    /// The name of the file with the weights; `None` to try [`WEIGHT_FILES`].
    pub weights: Option<String>,
    /// The entry of the model, if it is a known one.
    pub known: Option<&'static KnownModel>,
}

/// The location of a model's files.
#[derive(Debug, PartialEq, Eq)]
pub enum Location {
    /// A local directory.
    Directory(PathBuf),
    /// A base URL that ends with `/`.
    Web(Url),
}

impl Location {
    /// Formats the location for the model record.
    pub fn text(&self) -> String {
        match self {
            Self::Directory(dir) => dir.display().to_string(),
            Self::Web(url) => url.to_string(),
        }
    }
}

impl ModelOrigin {
    /// Resolves the origin that a request names.
    ///
    /// # Errors
    /// `not_found` for an unknown name or unreadable path; `usage` for an unusable URL or file, or
    /// an invalid model name.
    pub fn of(request: &ModelInstall) -> Result<Self, Fault> {
        let from = request.from.trim();
        let mut origin = if let Some(known) = find_known(from) {
            let name = known.name.to_owned();
            Self {
                name,
                location: hub_location(known.repository, known.revision)?,
                weights: None,
                known: Some(known),
            }
        } else if from.contains("://") {
            from_url(from)?
        } else if Path::new(from).is_absolute() {
            from_path(Path::new(from))?
        } else {
            return Err(unknown_model(from));
        };
        if let Some(name) = &request.name {
            origin.name.clone_from(name);
        }
        if !is_name(&origin.name) {
            let message = format!("\"{}\" is not a valid model name", origin.name);
            return Err(Fault::new(FaultCode::Usage, message).hint(
                "use lower-case letters, digits, dots, dashes and underscores: --name my-model",
            ));
        }
        Ok(origin)
    }
}

/// Returns whether a text is a valid model name, which becomes a directory name.
pub fn is_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
    let has_valid_start = name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    has_valid_start
        && name.len() <= MAX_NAME_CHARS
        && name.bytes().all(is_allowed)
        && ![".tmp", ".old"].iter().any(|end| name.ends_with(end))
}

/// Derives a model name from the name of a directory or repository. It may be empty.
fn to_name(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let to_allowed = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    text.chars()
        .map(to_allowed)
        .collect::<String>()
        .trim_matches(['.', '-', '_'])
        .chars()
        .take(MAX_NAME_CHARS)
        .collect()
}

fn is_weights(name: &str) -> bool {
    [".safetensors", ".onnx"].iter().any(|end| name.ends_with(end))
}

fn hub_location(repository: &str, revision: &str) -> Result<Location, Fault> {
    parse_url(&format!("{HUB}/{repository}/resolve/{revision}/")).map(Location::Web)
}

/// Parses the `https` URL of a model.
fn parse_url(text: &str) -> Result<Url, Fault> {
    let refuse = |why: &str| {
        Err(Fault::new(FaultCode::Usage, format!("a model cannot be fetched from {text}: {why}"))
            .hint("download its files yourself, and give their directory"))
    };
    // The messages do not repeat an address that may contain a password.
    let refuse_user = || {
        Err(Fault::new(FaultCode::Usage, "the address must not contain a user name")
            .hint("download the files yourself, and give their directory"))
    };
    match Url::parse(text) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => refuse_user(),
        Ok(url) if url.scheme() != "https" => refuse("the address must begin with https://"),
        Ok(url) if url.host_str().is_none() => refuse("the address has no host"),
        Ok(url) => Ok(url),
        Err(_) if text.contains('@') => refuse_user(),
        Err(e) => refuse(&e.to_string()),
    }
}

fn from_url(text: &str) -> Result<ModelOrigin, Fault> {
    let mut url = parse_url(text)?;
    url.set_fragment(None);
    url.set_query(None);
    let path = url.path().to_owned();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let at_hub = url.origin().ascii_serialization() == HUB;
    match *parts.as_slice() {
        [.., directory, last] if is_weights(last) => {
            let weights = Some(last.to_owned());
            let base = url.join(".").map_err(|e| Fault::new(FaultCode::Usage, e.to_string()))?;
            // The hub's URL of a file in a repository: owner/name/resolve/main/file.
            let name = match *parts.as_slice() {
                [_, repository, "resolve", ..] if at_hub => repository,
                _ => directory,
            };
            Ok(ModelOrigin {
                name: to_name(name),
                location: Location::Web(base),
                weights,
                known: None,
            })
        }
        [owner, repository] if at_hub => {
            let path = format!("{owner}/{repository}");
            // The same repository name of another owner is another model.
            let known =
                find_known(repository).filter(|known| known.repository.eq_ignore_ascii_case(&path));
            let location = match known {
                Some(known) => hub_location(known.repository, known.revision)?,
                None => hub_location(&path, "main")?,
            };
            Ok(ModelOrigin { name: to_name(repository), location, weights: None, known })
        }
        _ => Err(Fault::new(FaultCode::Usage, format!("{text} is not the address of a model"))
            .hint(
                "give the address of a model.safetensors or model.onnx with config.json and \
                   tokenizer.json beside it, or of a repository of the model hub: \
                   https://huggingface.co/OWNER/NAME",
            )),
    }
}

fn from_path(path: &Path) -> Result<ModelOrigin, Fault> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|e| {
        Fault::new(FaultCode::NotFound, format!("{shown} cannot be read: {e}")).hint(format!(
            "give a directory, a file or an address; known names: {}",
            describe_known_models()
        ))
    })?;
    if meta.is_dir() {
        return Ok(ModelOrigin {
            name: directory_name(path),
            location: Location::Directory(path.to_owned()),
            weights: None,
            known: None,
        });
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if is_weights(&file) {
        let dir = path.parent().unwrap_or(path).to_owned();
        let name = directory_name(&dir);
        return Ok(ModelOrigin {
            name,
            location: Location::Directory(dir),
            weights: Some(file),
            known: None,
        });
    }
    let fault = Fault::new(FaultCode::Usage, format!("{shown} is not a file of model weights"));
    Err(if [".whl", ".zip"].iter().any(|end| file.to_ascii_lowercase().ends_with(end)) {
        fault.hint(
            "unpack it, and give the directory that has model.safetensors, config.json and \
                    tokenizer.json: python3 -m zipfile -e FILE DIR",
        )
    } else {
        fault.hint(format!("give the directory, or the file: {}", WEIGHT_FILES.join(" or ")))
    })
}

/// Names a model after its directory, or after the parent if the directory has a generic name.
fn directory_name(dir: &Path) -> String {
    let names = dir.iter().rev().map(|part| to_name(&part.to_string_lossy()));
    let is_specific =
        |name: &String| !name.is_empty() && !["model", "models", "onnx"].contains(&name.as_str());
    let name = names.into_iter().find(is_specific);
    name.map_or_else(
        || "model".into(),
        |name| name.trim_end_matches(".tmp").trim_end_matches(".old").to_owned(),
    )
}

fn unknown_model(from: &str) -> Fault {
    let known = super::known_models::KNOWN.iter().map(|known| known.name);
    let hint = match brain_protocol::nearest(from, known) {
        Some(name) => format!("did you mean {name}? known names: {}", describe_known_models()),
        None => {
            format!(
                "known names: {}; or give a directory, a file, or an https:// address",
                describe_known_models()
            )
        }
    };
    Fault::new(FaultCode::NotFound, format!("no model \"{from}\" is known")).hint(hint)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn origin_of(from: &str) -> Result<ModelOrigin, Fault> {
        ModelOrigin::of(&ModelInstall { from: from.into(), sha256: None, name: None })
    }

    fn web(text: &str) -> Location {
        Location::Web(Url::parse(text).unwrap())
    }

    #[test]
    fn names_and_urls_are_resolved() {
        let minilm = origin_of("all-MiniLM-L6-v2").unwrap();
        assert_eq!(minilm.name, "all-minilm-l6-v2");
        let location = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/\
            c9745ed1d9f207416be6d2e6f8de32d1f16199bf/";
        assert_eq!(minilm.location, web(location));
        let repository = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2";
        assert_eq!(origin_of(repository).unwrap(), minilm);
        let file = origin_of(&format!("{location}onnx/model.onnx?download=true")).unwrap();
        assert_eq!(
            (file.name.as_str(), file.weights.as_deref()),
            ("all-minilm-l6-v2", Some("model.onnx"))
        );
        assert_eq!(file.location, web(&format!("{location}onnx/")));
        let url = "https://files.example.org/My%20Models/tiny/model.safetensors";
        let other_host = origin_of(url).unwrap();
        assert_eq!(
            (other_host.name.as_str(), other_host.weights.as_deref()),
            ("tiny", Some("model.safetensors"))
        );

        for (from, code, hint) in [
            ("all-minilm-l6", FaultCode::NotFound, "all-minilm-l6-v2"),
            ("nonsense", FaultCode::NotFound, "known names"),
            ("", FaultCode::NotFound, "known names"),
            ("relative/dir", FaultCode::NotFound, "known names"),
            ("http://files.example.org/model.safetensors", FaultCode::Usage, "directory"),
            ("file:///etc/passwd", FaultCode::Usage, "directory"),
            (
                "https://me:word@files.example.org/a/model.safetensors",
                FaultCode::Usage,
                "directory",
            ),
            ("http://me:word@files.example.org/model.onnx", FaultCode::Usage, "directory"),
            ("https://me:word@files.example.org:99999/a", FaultCode::Usage, "directory"),
            ("https://files.example.org/", FaultCode::Usage, "config.json"),
            ("https://huggingface.co/a/b/tree/main", FaultCode::Usage, "OWNER/NAME"),
            ("/no/such/place", FaultCode::NotFound, "known names"),
        ] {
            let fault = origin_of(from).unwrap_err();
            assert_eq!(fault.code, code, "{from}");
            assert!(fault.hint.as_ref().unwrap().to_string().contains(hint), "{from}: {fault:?}");
            assert!(!fault.message.contains("word"), "{fault:?}");
        }
    }

    #[test]
    fn directories_and_files_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let model = dir.path().join("Tiny Model").join("model");
        std::fs::create_dir_all(&model).unwrap();
        for name in ["model.safetensors", "m.whl", "notes.txt"] {
            std::fs::write(model.join(name), "x").unwrap();
        }
        let directory = origin_of(model.to_str().unwrap()).unwrap();
        assert_eq!(
            (directory.name.as_str(), &directory.location),
            ("tiny-model", &Location::Directory(model.clone()))
        );
        let file = origin_of(model.join("model.safetensors").to_str().unwrap()).unwrap();
        assert_eq!(
            (file.name.as_str(), file.weights.as_deref()),
            ("tiny-model", Some("model.safetensors"))
        );
        assert_eq!(file.location, directory.location);
        for (name, hint) in [("m.whl", "unpack it"), ("notes.txt", "model.safetensors")] {
            let fault = origin_of(model.join(name).to_str().unwrap()).unwrap_err();
            assert!(fault.hint.as_ref().unwrap().to_string().contains(hint), "{fault:?}");
        }
        let request = |name: &str| ModelInstall {
            from: model.to_str().unwrap().into(),
            sha256: None,
            name: Some(name.into()),
        };
        assert_eq!(ModelOrigin::of(&request("mine")).unwrap().name, "mine");
        for bad in ["", "..", "a/b", "A", ".hidden", "x.tmp", "x.old", "a b", &"x".repeat(65)] {
            assert_eq!(ModelOrigin::of(&request(bad)).unwrap_err().code, FaultCode::Usage, "{bad}");
        }
    }
}
