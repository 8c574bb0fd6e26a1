//! Opens a brain: the store, the index, the services, and recovery after a crash.

use std::path::PathBuf;
use std::sync::Arc;

use brain_base::clock::Clock;
use brain_base::home::Home;
use brain_base::random::{self, RandomSource, SystemRandom};
use brain_base::secrets::Secrets;
use brain_config::{Config, Retention};
use brain_files::{IgnoreRules, markdown_files};
use brain_ledger::OutgoingFile;
use brain_machines::{LeaseTable, complete_join};
use brain_pages::index::{IndexFollower, index_id};
use brain_protocol::{Command, Fault, FaultCode, SyncedSource, hint};
use brain_retrieval::embedding::{EmbeddingState, combine_hooks};
use brain_service::{ChangeFeed, StandardOutput};
use brain_store::{Reader, Store};
use brain_sync::backup::home_remains::{check_new_home, check_store, store_fault};
use tokio_util::sync::CancellationToken;

use crate::compose::{SharedParts, machine_service};
use crate::environment::{Environment, store_options};
use crate::home_owner::check_owner;
use crate::{Brain, ExternalDependencies, store_identity};

/// The program that reads exports of other programs.
const CONVERTER: &str = "brain-convert";

/// Returns the path of the program that reads exports: beside this one.
fn converter_beside(program: Option<PathBuf>) -> PathBuf {
    let beside = program.and_then(|program| Some(program.parent()?.join(CONVERTER)));
    beside.unwrap_or_else(|| PathBuf::from(CONVERTER))
}

/// Creates the log of outgoing requests. Does not open its file.
fn outgoing_file(
    home: &Home,
    config: &Config,
    clock: &Arc<dyn Clock>,
    random: &dyn RandomSource,
) -> Result<OutgoingFile, Fault> {
    let is_on = config.history.left != Retention::Off;
    Ok(OutgoingFile::new(home.left(), clock.clone(), random::number(random)?, is_on))
}

impl Brain {
    /// Opens the brain at `home`: store, migration, index, and recovery after a crash.
    ///
    /// # Errors
    /// If the home cannot be used, the store is locked, damaged or from a newer version, or the
    /// index cannot be opened.
    pub fn open(
        home: Home,
        config: Config,
        clock: Arc<dyn Clock>,
        new_store_id: u64,
    ) -> Result<Self, Fault> {
        let variables = Box::new(|name: &str| std::env::var(name).ok());
        let (random, net) = (Arc::new(SystemRandom), Arc::new(brain_net::Client::new()));
        let lines = Arc::new(StandardOutput::default());
        let converter = converter_beside(std::env::current_exe().ok());
        let dependencies = ExternalDependencies { random, variables, net, lines, converter };
        Self::open_with(home, config, clock, new_store_id, dependencies)
    }

    /// Opens the brain at `home` with these external dependencies.
    ///
    /// # Errors
    /// The same as for [`Brain::open`].
    pub fn open_with(
        home: Home,
        config: Config,
        clock: Arc<dyn Clock>,
        new_store_id: u64,
        external: ExternalDependencies,
    ) -> Result<Self, Fault> {
        check_owner(&home)?;
        check_new_home(&home)?;
        home.prepare().map_err(|e| home_fault(&home, &e))?;
        let unopened = home.clone();
        let home = home.keep_open().map_err(|e| home_fault(&unopened, &e))?;
        if !home.is_read_only() {
            complete_join(&home)?;
            home.prepare().map_err(|e| home_fault(&home, &e))?;
        }
        let options = store_options(&config, clock.now(), new_store_id);
        let index = Arc::new(IndexFollower::new(home.index()));
        let embedding_state = EmbeddingState::default();
        let changes = ChangeFeed::new();
        let hook = changes.hook(combine_hooks(embedding_state.hook(), index.hook()));
        check_store(&home)?;
        let is_new = !home.store().exists();
        let is_other_file = store_identity::is_other_file(&home);
        let opened = Store::open(&home.store(), &options, hook);
        let store = Arc::new(opened.map_err(|error| store_fault(&home, error))?);
        check_not_emptied(&home, &store)?;
        if is_new {
            tracing::info!(home = %home.root().display(), "made a new, empty brain");
        }
        if let Some(found) = home.synced_folder() {
            tracing::warn!("{}", found.warning(home.root()));
        }
        let is_other_store = is_other_file && store_identity::discard_torn_index(&home, &store);
        if let Some(dir) = config.backup.directory(&home) {
            store.set_backup_dir(dir);
        }
        index.start(&store, &config)?;
        let outgoing = Arc::new(outgoing_file(&home, &config, &clock, &*external.random)?);
        external.net.set_log(outgoing.clone());
        let leases = Arc::new(LeaseTable::default());
        let env = Environment {
            leases: leases.clone(),
            secrets: Arc::new(Secrets::new(home.secrets(), external.variables)),
            config: Arc::new(config),
            random: external.random,
            net: external.net,
            outgoing,
            lines: external.lines,
            converter: external.converter,
            stop: CancellationToken::new(),
            clock,
            home,
        };
        // A shared store has its log before anything is written.
        let machines = Arc::new(machine_service(env.clone(), store.clone(), leases));
        let brain =
            SharedParts::new(env, store, index, machines, changes)?.compose(embedding_state)?;
        brain.recover(is_other_store)?;
        Ok(brain)
    }

    /// Repairs what a crash left behind.
    fn recover(&self, is_other_store: bool) -> Result<(), Fault> {
        self.pages.dedup.refill(&self.store, self.env.clock.now())?;
        self.files.begin_recovery();
        if is_other_store {
            let taken_in = self.take_in_files();
            let _ = self.taken_in.set(taken_in);
        }
        self.files.replay_outbox();
        store_identity::record(&self.env.home);
        if let Err(fault) = self.pages.purge_due() {
            tracing::warn!(%fault, "cannot purge expired pages at start");
        }
        Ok(())
    }

    /// Brings store and files of pages together: each may be newer.
    fn take_in_files(&self) -> Result<SyncedSource, Fault> {
        let taken_in = self.sync.take_in_files();
        match &taken_in {
            Ok(taken_in) => tracing::info!(
                files = taken_in.files,
                added = taken_in.added,
                updated = taken_in.updated,
                failed = taken_in.failed_total,
                "files in pages/ compared with the store"
            ),
            Err(fault) => tracing::warn!(%fault, "files in pages/ not compared with the store"),
        }
        taken_in
    }
}

/// Refuses an empty store if the index knows of changes, or if the store was repaired and the home
/// has files of pages. The repair may have reset the store, and the owner must decide what to do.
fn check_not_emptied(home: &Home, store: &Store) -> Result<(), Fault> {
    if store.read_through(Reader::counts)?.seq > 0 {
        return Ok(());
    }
    let known_changes =
        brain_search::known_changes(&home.index(), &index_id(store)).filter(|count| *count > 0);
    let file_count = || {
        let rules = IgnoreRules::off();
        markdown_files(&home.pages(), "", &rules, None).files.len()
    };
    let is_repaired =
        || -> Result<bool, Fault> { Ok(store.was_repaired() || store.is_marked_lost()?) };
    let evidence = match known_changes {
        Some(count) => format!("its index knows of {count} changes"),
        None if is_repaired()? => match file_count() {
            0 => return Ok(()),
            files => {
                let pages = if files == 1 { "1 page".to_owned() } else { format!("{files} pages") };
                // Without this mark, the next start would not notice the repair.
                if let Err(error) = store.mark_lost() {
                    tracing::warn!(%error, "cannot mark the store as lost");
                }
                format!("{} has {pages}, and the store had to be repaired", home.pages().display())
            }
        },
        None => return Ok(()),
    };
    let store = store.path().display();
    let message = format!("{store} opened without any page, but {evidence}");
    Err(Fault::new(FaultCode::StoreDamaged, message).hint(hint!(
        "no page was changed; move {} away and restore a backup: {}; without a backup, move {} and \
         {} away as well, and import the pages from there: {}",
        store.to_string(),
        Command::BackupRestore { file: None },
        home.index().display().to_string(),
        home.pages().display().to_string(),
        Command::Import
    )))
}

pub(crate) fn home_fault(home: &Home, error: &std::io::Error) -> Fault {
    let message = format!("cannot use {} as home: {error}", home.root().display());
    Fault::new(brain_base::write_code(error), message)
        .hint("make that directory writable, or set BRAIN_HOME to another one")
}
