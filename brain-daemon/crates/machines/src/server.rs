//! The log of a shared brain in PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use brain_base::outgoing::OutgoingLog;
use brain_base::random::RandomSource;
use brain_commit_log::{
    BrainId, Engine, Error, PostgresLog, PostgresSettings, ServerUrl, Timeouts,
};

use crate::{DEADLINE, SCHEMA, ServerSecrets};

/// Opens a log. Connects to the server at the first call. If `listens` is true and there is no
/// direct URL, notifications come through the main URL.
///
/// # Errors
/// [`Error::InvalidUrl`], whose message contains no part of a URL; [`Error::File`] if certificates
/// cannot be read.
pub(crate) fn open_log(
    secrets: &ServerSecrets,
    namespace: &str,
    listens: bool,
    (random, outgoing): (Arc<dyn RandomSource>, Arc<dyn OutgoingLog>),
) -> Result<Arc<dyn Engine>, Error> {
    let settings = PostgresSettings { outgoing, ..settings(secrets, namespace, listens, random)? };
    Ok(Arc::new(PostgresLog::open(settings)?))
}

/// Creates the tables of a log, and opens it.
///
/// # Errors
/// As [`open_log`]; [`Error::AlreadyCreated`] if another brain uses the namespace; errors of the
/// server.
pub(crate) fn create_log(
    secrets: &ServerSecrets,
    namespace: &str,
    brain: BrainId,
    (random, outgoing): (Arc<dyn RandomSource>, Arc<dyn OutgoingLog>),
) -> Result<Arc<dyn Engine>, Error> {
    let settings = PostgresSettings { outgoing, ..settings(secrets, namespace, false, random)? };
    Ok(Arc::new(PostgresLog::create(settings, brain)?))
}

/// Returns the settings of a log with the time limits of a daemon.
fn settings(
    secrets: &ServerSecrets,
    namespace: &str,
    listens: bool,
    random: Arc<dyn RandomSource>,
) -> Result<PostgresSettings, Error> {
    let url = ServerUrl::parse(&secrets.url)?;
    let direct_url = secrets.direct_url.as_ref().map(ServerUrl::parse).transpose()?;
    let direct_url = direct_url.or_else(|| listens.then(|| url.clone()));
    let mut settings = PostgresSettings::new(url, SCHEMA, random).with_namespace(namespace)?;
    settings.direct_url = direct_url;
    settings.timeouts = Timeouts {
        connect: Duration::from_secs(3),
        lock: Duration::from_millis(2_500),
        statement: Duration::from_secs(4),
        deadline: DEADLINE,
        poll: Duration::from_secs(1),
    };
    Ok(settings)
}
