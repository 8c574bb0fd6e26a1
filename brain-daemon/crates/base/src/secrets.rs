//! Finds and stores secrets.
//!
//! A secret `some-name` is the variable `BRAIN_SOME_NAME`, else the file of its `*_file` key in the
//! configuration, else the systemd credential `some-name`, else `secrets/some-name` in the home. A
//! file that other users can read is rejected, except a credential. Values never appear in logs or
//! errors, because they are [`Secret`]s.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use brain_protocol::Secret;

use crate::Error;
use crate::durable::replace_with;
use crate::home::create_private_dir;

/// Maximum length of a secret in bytes.
const MAX_BYTES: u64 = 4096;

/// Reads an environment variable.
pub type ReadVariable = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretOrigin {
    /// This environment variable.
    Variable(String),
    /// The file that the configuration names.
    Configured(PathBuf),
    /// This systemd credential.
    Credential(PathBuf),
    /// This file in the home.
    Home(PathBuf),
}

impl std::fmt::Display for SecretOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Configured(path) | Self::Credential(path) | Self::Home(path) => {
                write!(f, "{}", path.display())
            }
        }
    }
}

/// A secret and its place.
#[derive(Debug, Clone)]
pub struct FoundSecret {
    /// The secret, without white space around it.
    pub secret: Secret,
    /// Its place.
    pub origin: SecretOrigin,
}

/// Finds and stores the secrets of one home.
pub struct Secrets {
    dir: PathBuf,
    variables: ReadVariable,
}

impl Secrets {
    /// Uses `dir` as the home's `secrets/`.
    #[must_use]
    pub fn new(dir: PathBuf, variables: ReadVariable) -> Self {
        Self { dir, variables }
    }

    /// Finds the secret `name`. `configured` is the file of its `*_file` key. `None` if no place
    /// has the secret.
    ///
    /// # Errors
    /// The error of the first place with the secret if the secret cannot be read or is not valid.
    /// [`Error::Exposed`] if other users can read its file. [`Error::MissingFile`] if the
    /// configured file does not exist. Later places are not tried.
    pub fn find(
        &self,
        name: &str,
        configured: Option<&Path>,
    ) -> Result<Option<FoundSecret>, Error> {
        let variable = format!("BRAIN_{}", name.to_uppercase().replace('-', "_"));
        if let Some(value) = (self.variables)(&variable).filter(|value| !value.trim().is_empty()) {
            let secret = Secret::new(value.trim());
            return Ok(Some(FoundSecret { secret, origin: SecretOrigin::Variable(variable) }));
        }
        if let Some(path) = configured {
            let secret = read(path, true)?.ok_or_else(|| Error::MissingFile(path.to_owned()))?;
            return Ok(Some(FoundSecret {
                secret,
                origin: SecretOrigin::Configured(path.to_owned()),
            }));
        }
        if let Some(dir) = (self.variables)("CREDENTIALS_DIRECTORY").filter(|dir| !dir.is_empty()) {
            let path = Path::new(&dir).join(name);
            // systemd sets the mode.
            if let Some(secret) = read(&path, false)? {
                return Ok(Some(FoundSecret { secret, origin: SecretOrigin::Credential(path) }));
            }
        }
        let path = self.dir.join(name);
        Ok(read(&path, true)?
            .map(|secret| FoundSecret { secret, origin: SecretOrigin::Home(path) }))
    }

    /// Returns the place of the secret in the home.
    #[must_use]
    pub fn home_path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns the secret in the home, also if an earlier place has it.
    ///
    /// # Errors
    /// As [`Secrets::find`].
    pub fn find_in_home(&self, name: &str) -> Result<Option<Secret>, Error> {
        read(&self.dir.join(name), true)
    }

    /// Writes a secret to the home and flushes it. After a crash the file holds the old or the new
    /// secret, never a part.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the file cannot be written.
    pub fn store(&self, name: &str, secret: &Secret) -> Result<PathBuf, Error> {
        let path = self.dir.join(name);
        match self.write(&path, secret) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Unwritable { path, source }),
        }
    }

    /// Removes a secret from the home. A missing file is no error; other places stay.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the file cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(Error::Unwritable { path, source })
            }
            _ => Ok(()),
        }
    }

    fn write(&self, path: &Path, secret: &Secret) -> std::io::Result<()> {
        create_private_dir(&self.dir)?;
        fs::set_permissions(&self.dir, fs::Permissions::from_mode(0o700))?;
        let line = format!("{}\n", secret.expose());
        // The umask may remove permissions of the owner.
        replace_with(path, Some(0o600), |file| file.write_all(line.as_bytes())).map(drop)
    }
}

/// Reads the file of a secret. `None` if it does not exist. A `private` file must be readable only
/// by its owner.
fn read(path: &Path, private: bool) -> Result<Option<Secret>, Error> {
    let io = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(io(e)),
    };
    // Checks the open file, so that it cannot be replaced in between.
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() {
        return Err(Error::NotAFile(path.to_owned()));
    }
    let mode = meta.permissions().mode() & 0o777;
    if private && mode & 0o077 != 0 {
        return Err(Error::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    (&mut file).take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => Error::NotText(path.to_owned()),
        _ => io(e),
    })?;
    let secret = text.trim();
    if secret.is_empty() || text.len() as u64 > MAX_BYTES || secret.contains('\n') {
        return Err(Error::NotOneLine(path.to_owned()));
    }
    Ok(Some(Secret::new(secret)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use brain_protocol::{Fault, FaultCode};

    use super::*;

    fn code(error: Error) -> FaultCode {
        Fault::from(error).code
    }

    fn with(dir: &Path, variables: &[(&str, &str)]) -> Secrets {
        let variables: Vec<(String, String)> =
            variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let read_variable =
            move |name: &str| variables.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone());
        Secrets::new(dir.join("secrets"), Box::new(read_variable))
    }

    fn write_file(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_place_with_the_secret_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let credentials = at("credentials").display().to_string();
        let bare = with(dir.path(), &[]);
        let credential = with(dir.path(), &[("CREDENTIALS_DIRECTORY", &credentials)]);
        let all = with(
            dir.path(),
            &[("CREDENTIALS_DIRECTORY", &credentials), ("BRAIN_SOME_NAME", " v \n")],
        );
        let find = |secrets: &Secrets, file: Option<&Path>| {
            let secret = secrets.find("some-name", file).unwrap();
            secret.map(|found| (found.secret.expose().to_owned(), found.origin))
        };

        assert_eq!(find(&bare, None), None);
        write_file(&at("secrets/some-name"), "home\n", 0o600);
        assert_eq!(
            find(&credential, None).unwrap(),
            ("home".into(), SecretOrigin::Home(at("secrets/some-name")))
        );
        write_file(&at("credentials/some-name"), "cred", 0o440);
        assert_eq!(find(&bare, None).unwrap().0, "home");
        let origin = SecretOrigin::Credential(at("credentials/some-name"));
        assert_eq!(find(&credential, None).unwrap(), ("cred".into(), origin));
        write_file(&at("mine"), "file", 0o400);
        let mine = at("mine");
        assert_eq!(
            find(&credential, Some(&mine)).unwrap(),
            ("file".into(), SecretOrigin::Configured(at("mine")))
        );
        assert_eq!(
            find(&all, Some(&mine)).unwrap(),
            ("v".into(), SecretOrigin::Variable("BRAIN_SOME_NAME".into()))
        );
        assert_eq!(code(bare.find("some-name", Some(&at("other"))).unwrap_err()), FaultCode::Io);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_a_hint() {
        let dir = tempfile::tempdir().unwrap();
        let (secrets, path) = (with(dir.path(), &[]), dir.path().join("secrets/some-name"));
        for mode in [0o644, 0o640, 0o604, 0o660] {
            write_file(&path, "hunter2", mode);
            let fault = Fault::from(secrets.find("some-name", None).unwrap_err());
            assert_eq!(fault.code, FaultCode::Forbidden);
            let hint = fault.hint.clone().unwrap().to_string();
            assert!(hint.contains(&format!("chmod 600 {}", path.display())), "{hint}");
            assert!(!format!("{fault:?}").contains("hunter2"));
        }
        for (text, mode) in [("", 0o600), (" \n", 0o600), ("two\nlines\n", 0o600)] {
            write_file(&path, text, mode);
            let error = secrets.find("some-name", None).unwrap_err();
            assert_eq!(code(error), FaultCode::Io, "{text:?}");
        }
        let longest = "x".repeat(4095);
        write_file(&path, &format!("{longest}\n"), 0o600);
        assert_eq!(secrets.find("some-name", None).unwrap().unwrap().secret.expose(), longest);
        write_file(&path, &format!("{longest}x\n"), 0o600);
        assert_eq!(code(secrets.find("some-name", None).unwrap_err()), FaultCode::Io);
    }

    #[test]
    fn a_stored_secret_is_readable_only_by_the_owner() {
        let dir = tempfile::tempdir().unwrap();
        let secrets = with(dir.path(), &[]);
        write_file(&dir.path().join("secrets/some-name.tmp"), "left by a crash", 0o644);
        fs::set_permissions(dir.path().join("secrets"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = secrets.store("some-name", &Secret::new("one")).unwrap();
        assert_eq!(secrets.find("some-name", None).unwrap().unwrap().secret.expose(), "one");
        secrets.store("some-name", &Secret::new("two")).unwrap();
        assert_eq!(secrets.find("some-name", None).unwrap().unwrap().secret.expose(), "two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing else is left"
        );
    }

    #[test]
    fn removed_secret_is_gone_and_its_absence_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let secrets = with(dir.path(), &[("BRAIN_SOME_NAME", "elsewhere")]);
        let path = secrets.store("some-name", &Secret::new("one")).unwrap();
        assert_eq!(path, secrets.home_path("some-name"));
        assert_eq!(secrets.find_in_home("some-name").unwrap().unwrap().expose(), "one");
        for _ in 0..2 {
            secrets.remove("some-name").unwrap();
            assert!(secrets.find_in_home("some-name").unwrap().is_none());
        }
        fs::create_dir(&path).unwrap();
        assert!(matches!(secrets.remove("some-name"), Err(Error::Unwritable { .. })));
        assert!(matches!(secrets.find_in_home("some-name"), Err(Error::NotAFile(_))));
    }
}
