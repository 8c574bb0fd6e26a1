//! Creates and deletes the tables of a log.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error as DriverError};

use super::PostgresLog;
use super::append::FUNCTION;
use super::failure::Failure;
use super::rows::{CLOCK, Parameter, get};
use super::session::{PostgresSession, Role, Server};
use crate::{BrainId, Error, Position};

/// The lowest version that the log supports, as in `server_version_num`.
const MIN_VERSION: i32 = 140_000;

/// Encrypted bytes do not compress, so they are stored as they are. The head row keeps free space
/// in its page, so that an update writes no index.
const TABLES: &str = r#"
CREATE TABLE IF NOT EXISTS @head (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    brain bytea NOT NULL, number bigint NOT NULL, id bytea NOT NULL, time_ms bigint NOT NULL,
    schema integer NOT NULL, min_reader integer NOT NULL, fencing bigint NOT NULL,
    compacted bigint NOT NULL, key_generation integer NOT NULL,
    turn text COLLATE "C" NOT NULL DEFAULT '', turn_until_ms bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000);
CREATE TABLE IF NOT EXISTS @batches (
    number bigint PRIMARY KEY, id bytea NOT NULL, predecessor bytea NOT NULL,
    machine text COLLATE "C" NOT NULL, time_ms bigint NOT NULL, payload bytea NOT NULL
);
ALTER TABLE @batches ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS @leases (
    name text COLLATE "C" PRIMARY KEY, holder text COLLATE "C" NOT NULL,
    fencing bigint NOT NULL, expires_ms bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS @machines (
    name text COLLATE "C" PRIMARY KEY, id bytea NOT NULL, version text COLLATE "C" NOT NULL,
    number bigint NOT NULL, batch bytea NOT NULL, seen_ms bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS @keys (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), sealed bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS @snapshots (
    id bytea PRIMARY KEY, number bigint NOT NULL, batch bytea NOT NULL,
    machine text COLLATE "C" NOT NULL, time_ms bigint NOT NULL, complete boolean NOT NULL
);
CREATE TABLE IF NOT EXISTS @chunks (
    snapshot bytea NOT NULL REFERENCES @snapshots ON DELETE CASCADE,
    index integer NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (snapshot, index)
);
ALTER TABLE @chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
"#;

const DROP: &str = "
DROP TABLE IF EXISTS @chunks, @snapshots, @keys, @machines, @leases, @batches;
DROP FUNCTION IF EXISTS @append_1; DROP TABLE IF EXISTS @head";

/// Checks that the server is new enough.
async fn check_version(
    client: &Client,
    server: &Server,
    failed: impl Fn(DriverError) -> Failure,
) -> Result<(), Failure> {
    let version = client
        .query_typed_one(
            "SELECT current_setting('server_version_num')::integer, \
             current_setting('server_version'), clock_timestamp()",
            &[],
        )
        .await
        .map_err(failed)?;
    if get::<i32>(&version, 0)? < MIN_VERSION {
        let (address, version) = (server.address().to_owned(), get(&version, 1)?);
        return Err(Error::ServerTooOld { address, version }.into());
    }
    Ok(())
}

impl PostgresLog {
    /// Creates the tables and the head row, in one transaction.
    pub(super) fn create_tables(&self, brain: BrainId) -> Result<(), Error> {
        let direct = match &self.settings.direct_url {
            Some(url) => Server::new(url, &self.settings)?,
            None => Server::new(&self.settings.url, &self.settings)?,
        };
        let session = PostgresSession::new(Role::Writer)?;
        let limit = self.settings.timeouts.deadline;
        let stored = session
            .use_once(&direct, limit, async |client| self.create_on(client, &direct, brain).await);
        let stored = stored.map_err(|failure| failure.error)?;
        if stored == brain {
            return Ok(());
        }
        Err(Error::AlreadyCreated { address: self.server.address().to_owned() })
    }

    /// Creates the schema if it is missing.
    async fn create_schema(
        &self,
        client: &Client,
        failed: impl Fn(DriverError) -> Failure,
    ) -> Result<(), Failure> {
        // `CREATE SCHEMA IF NOT EXISTS` demands the right to create schemas, also if the owner of
        // the database has created this one.
        let namespace = &self.settings.namespace;
        let found = client
            .query_typed(
                "SELECT clock_timestamp() FROM pg_namespace WHERE nspname = $1",
                &[(namespace, Type::TEXT)],
            )
            .await
            .map_err(&failed)?;
        if !found.is_empty() {
            return Ok(());
        }
        let schema = format!("CREATE SCHEMA \"{namespace}\"");
        client.batch_execute(&schema).await.map_err(|error| {
            let mut failure = failed(error);
            if let Error::Denied { reason, .. } = &mut failure.error {
                reason.push_str(&format!(
                    "; the owner of the database can create the schema: \
                     CREATE SCHEMA \"{namespace}\" AUTHORIZATION USER"
                ));
            }
            failure
        })
    }

    async fn create_on(
        &self,
        client: &Client,
        server: &Server,
        brain: BrainId,
    ) -> Result<BrainId, Failure> {
        let timeouts = &self.settings.timeouts;
        let failed = |error| Failure::of(error, server.address(), "creating the tables", timeouts);
        check_version(client, server, failed).await?;
        // Two programs that create the same tables at the same time would fail.
        let lock = "SELECT pg_advisory_xact_lock(hashtext('brain commit log'))";
        client.batch_execute(&format!("{}; {lock}", timeouts.begin())).await.map_err(failed)?;
        self.create_schema(client, failed).await?;
        let tables = format!("{TABLES}{FUNCTION}").replace("$clock", CLOCK);
        client.batch_execute(&self.sql(&tables)).await.map_err(failed)?;
        let schema = i32::try_from(self.settings.schema).unwrap_or(i32::MAX);
        client
            .execute_typed(
                &self.sql(&format!(
                    "INSERT INTO @head (brain, number, id, time_ms, schema, min_reader, fencing, \
                     compacted, key_generation) \
                     VALUES ($1, 0, $2, {CLOCK}, $3, $3, 0, 0, 0) ON CONFLICT DO NOTHING"
                )),
                &[
                    (&brain.0.as_slice(), Type::BYTEA),
                    (&Position::START.id.0.as_slice(), Type::BYTEA),
                    (&schema, Type::INT4),
                ],
            )
            .await
            .map_err(failed)?;
        let stored = client
            .query_typed_one(&self.sql("SELECT brain, clock_timestamp() FROM @head"), &[])
            .await
            .map_err(failed)?;
        client.batch_execute("COMMIT").await.map_err(failed)?;
        Ok(BrainId::from_slice(get(&stored, 0)?).map_err(Error::from)?)
    }

    /// Deletes the tables of a brain, in one transaction. Other things in their schema stay.
    /// Missing tables are no error.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the tables are another brain's; nothing is deleted then.
    pub(super) fn drop_tables(&self, brain: BrainId) -> Result<(), Error> {
        match crate::CommitLog::head(self) {
            Ok(head) if head.brain != brain => {
                return Err(Error::AlreadyCreated { address: self.server.address().to_owned() });
            }
            Err(Error::NotCreated { .. }) => return Ok(()),
            result => _ = result?,
        }
        let begin = self.settings.timeouts.begin();
        let drop = self.sql(DROP);
        self.call(&self.bulk, async |client| {
            let dropped = client.batch_execute(&format!("{begin}; {drop}; COMMIT")).await;
            if dropped.is_err() {
                let _ = client.batch_execute("ROLLBACK").await;
            }
            dropped.map_err(self.failed("deleting the tables"))
        })?;
        self.drop_schema();
        Ok(())
    }

    /// Deletes the tables of a brain that nobody can join: without batches and complete snapshots,
    /// and without a sign of a machine for this long. Checks and deletes in one transaction.
    ///
    /// # Errors
    /// [`Error::AlreadyCreated`] if the tables are in use or another brain's; nothing is deleted
    /// then.
    pub(super) fn drop_abandoned_tables(
        &self,
        brain: BrainId,
        silence: Duration,
    ) -> Result<(), Error> {
        let begin = self.settings.timeouts.begin();
        let lock = self.sql("LOCK TABLE @head, @machines, @snapshots IN ACCESS EXCLUSIVE MODE");
        let query = self.sql(&format!(
            "SELECT true FROM @head WHERE brain = $1 AND number = 0 AND time_ms <= {CLOCK} - $2 \
             AND NOT EXISTS (SELECT FROM @machines WHERE seen_ms > {CLOCK} - $2) \
             AND NOT EXISTS (SELECT FROM @snapshots WHERE complete)"
        ));
        let drop = self.sql(DROP);
        let silence_ms = i64::try_from(silence.as_millis()).unwrap_or(i64::MAX / 2);
        self.call(&self.bulk, async |client| {
            let failed = self.failed("deleting abandoned tables");
            let result = async {
                client.batch_execute(&format!("{begin}; {lock}")).await.map_err(&failed)?;
                let parameters: [Parameter<'_>; 2] =
                    [(&brain.0.as_slice(), Type::BYTEA), (&silence_ms, Type::INT8)];
                let found = client.query_typed(&query, &parameters).await.map_err(&failed)?;
                if found.is_empty() {
                    let address = self.server.address().to_owned();
                    return Err(Error::AlreadyCreated { address }.into());
                }
                client.batch_execute(&format!("{drop}; COMMIT")).await.map_err(&failed)
            }
            .await;
            if result.is_err() {
                let _ = client.batch_execute("ROLLBACK").await;
            }
            result
        })?;
        self.drop_schema();
        Ok(())
    }

    fn drop_schema(&self) {
        // The schema stays if it has other things, or if another user created it.
        let _ = self.call(&self.bulk, async |client| {
            let schema = format!("DROP SCHEMA \"{}\"", self.settings.namespace);
            client.batch_execute(&schema).await.map_err(self.failed("deleting the schema"))
        });
    }
}
