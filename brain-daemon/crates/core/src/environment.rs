//! The values of the process from which services are composed.

use std::path::PathBuf;
use std::sync::Arc;

use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::leases::LeaseHolder;
use brain_base::random::RandomSource;
use brain_base::secrets::Secrets;
use brain_ledger::OutgoingFile;
use brain_net::HttpClient;
use tokio_util::sync::CancellationToken;

use brain_config::Config;

use brain_service::EventLines;
use brain_store::StoreOptions;

/// The values of the process. Each service gets only those that it uses. Clones share the values.
#[derive(Clone)]
pub struct Environment {
    /// The home directory.
    pub home: Home,
    /// The configuration.
    pub config: Arc<Config>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random bytes.
    pub random: Arc<dyn RandomSource>,
    /// The secrets.
    pub secrets: Arc<Secrets>,
    /// The client for outgoing HTTP.
    pub net: Arc<dyn HttpClient>,
    /// The log of outgoing requests.
    pub outgoing: Arc<OutgoingFile>,
    /// The output of event lines.
    pub lines: Arc<dyn EventLines>,
    /// The program that reads exports of other programs.
    pub converter: PathBuf,
    /// The tasks that this machine may run.
    pub leases: Arc<dyn LeaseHolder>,
    /// Cancelled when the daemon stops: long work ends at its next safe point.
    pub stop: CancellationToken,
}

/// Returns the options of a store that is opened or created at `now`.
pub(crate) fn store_options(config: &Config, now: i64, new_store_id: u64) -> StoreOptions {
    StoreOptions {
        cache_bytes: config.store.cache_mb * 1_000_000,
        min_free_bytes: config.store.min_free_mb * 1_000_000,
        now,
        new_store_id,
        min_returned_bytes: StoreOptions::MIN_RETURNED_BYTES,
    }
}
