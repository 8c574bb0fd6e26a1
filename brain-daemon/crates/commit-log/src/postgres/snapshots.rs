//! Snapshots and compaction.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::PostgresLog;
use super::administration::{MACHINES, machine_of};
use super::failure::Failure;
use super::rows::{CLOCK, HEAD, Parameter, get, head_of, number, position, single_row, to_bigint};
use super::session::pipelined;
use crate::checks::{check_deletion, check_name, check_size, compactable};
use crate::{BrainSnapshot, Compaction, Error, MAX_CHUNK, Position, SnapshotId, Snapshots};

/// How many batches one transaction of a compaction deletes. Appends wait for it.
const COMPACTION_STEP: u64 = 200;

const SNAPSHOTS: &str = "
SELECT s.id, s.number, s.batch, s.machine, s.time_ms, s.complete, count(c.index),
    coalesce(sum(octet_length(c.bytes)), 0)::bigint, clock_timestamp()
FROM @snapshots AS s LEFT JOIN @chunks AS c ON c.snapshot = s.id
GROUP BY s.id ORDER BY s.number DESC, s.time_ms DESC, s.id DESC";

impl PostgresLog {
    /// Runs statements one after the other in a transaction that locks the head.
    async fn with_locked_head<T>(
        &self,
        client: &Client,
        phase: &'static str,
        work: impl AsyncFnOnce(&Row) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let failed = self.failed(phase);
        client.batch_execute(&self.settings.timeouts.begin()).await.map_err(&failed)?;
        let query = self.sql(&format!("SELECT {HEAD} FROM @head FOR UPDATE"));
        let result = match client.query_typed(&query, &[]).await.map_err(&failed) {
            Ok(rows) => match single_row(&rows, &self.server) {
                Ok(head) => work(&head).await,
                Err(error) => Err(error.into()),
            },
            Err(failure) => Err(failure),
        };
        let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = client.batch_execute(end).await.map_err(failed);
        let value = result?;
        ended?;
        Ok(value)
    }

    /// Reads the list of snapshots in the present transaction.
    async fn snapshot_rows(&self, client: &Client) -> Result<Vec<BrainSnapshot>, Failure> {
        let rows = client.query_typed(&self.sql(SNAPSHOTS), &[]).await;
        Self::snapshots_of(&rows.map_err(self.failed("reading snapshots"))?)
    }

    fn snapshots_of(rows: &[Row]) -> Result<Vec<BrainSnapshot>, Failure> {
        Ok(rows.iter().map(snapshot_of).collect::<Result<Vec<_>, Error>>()?)
    }
}

impl Snapshots for PostgresLog {
    fn begin_snapshot(
        &self,
        id: SnapshotId,
        contains: &Position,
        machine: &str,
    ) -> Result<(), Error> {
        check_name(machine)?;
        let statement = self.sql(&format!(
            "INSERT INTO @snapshots (id, number, batch, machine, time_ms, complete) \
             VALUES ($1, $2, $3, $4, {CLOCK}, false)"
        ));
        let delete = self.sql("DELETE FROM @snapshots WHERE id = $1");
        let (id, number) = (id.0.as_slice(), to_bigint(contains.number));
        let batch = contains.id.0.as_slice();
        self.call(&self.bulk, async |client| {
            let phase = "beginning a snapshot";
            self.with_locked_head(client, phase, async |head| {
                let head = head_of(head)?;
                if contains.number > head.position.number {
                    let (replica, log) = (*contains, head.position);
                    return Err(Error::Diverged { replica, log }.into());
                }
                let parameters: [Parameter<'_>; 4] = [
                    (&id, Type::BYTEA),
                    (&number, Type::INT8),
                    (&batch, Type::BYTEA),
                    (&machine, Type::TEXT),
                ];
                let deleted = client.execute_typed(&delete, &parameters[..1]).await;
                deleted.map_err(self.failed(phase))?;
                let inserted = client.execute_typed(&statement, &parameters).await;
                inserted.map_err(self.failed(phase))?;
                Ok(())
            })
            .await
        })
    }

    fn put_chunk(&self, id: SnapshotId, index: u32, bytes: &[u8]) -> Result<(), Error> {
        check_size("the chunk", bytes.len(), MAX_CHUNK)?;
        let timeouts = self.settings.timeouts.for_bytes(bytes.len());
        let begin = timeouts.begin();
        let statement = self.sql(
            "INSERT INTO @chunks (snapshot, index, bytes) \
             SELECT id, $2, $3 FROM @snapshots WHERE id = $1 AND NOT complete FOR SHARE \
             ON CONFLICT (snapshot, index) DO UPDATE SET bytes = excluded.bytes",
        );
        let (key, index) = (id.0.as_slice(), index_of(index)?);
        let work = async |client: &Client, _| {
            let parameters: [Parameter<'_>; 3] =
                [(&key, Type::BYTEA), (&index, Type::INT4), (&bytes, Type::BYTEA)];
            let stored =
                pipelined(client, &begin, client.execute_typed(&statement, &parameters)).await;
            stored.map_err(|e| Failure::of(e, self.server.address(), "storing a chunk", &timeouts))
        };
        let is_unknown = std::cell::Cell::new(false);
        let stored = self.run(&self.bulk, timeouts.deadline, &is_unknown, &work)?;
        if stored == 0 {
            return Err(Error::NotFound(format!("incomplete snapshot {id}")));
        }
        Ok(())
    }

    fn complete_snapshot(&self, id: SnapshotId, chunks: u32) -> Result<(), Error> {
        let update = self.sql("UPDATE @snapshots SET complete = true WHERE id = $1");
        let count = self
            .sql("SELECT count(*), max(index), clock_timestamp() FROM @chunks WHERE snapshot = $1");
        let (key, last) = (id.0.as_slice(), index_of(chunks)? - 1);
        self.call(&self.bulk, async |client| {
            let phase = "completing a snapshot";
            self.with_locked_head(client, phase, async |_| {
                let parameters: [Parameter<'_>; 1] = [(&key, Type::BYTEA)];
                let updated = client.execute_typed(&update, &parameters).await;
                if updated.map_err(self.failed(phase))? == 0 {
                    return Err(Error::NotFound(format!("snapshot {id}")).into());
                }
                let row = client.query_typed_one(&count, &parameters).await;
                let row = row.map_err(self.failed(phase))?;
                let stored = number(&row, 0)?;
                if stored != u64::from(chunks) || get::<Option<i32>>(&row, 1)? != Some(last) {
                    let text = format!("snapshot {id} has {stored} of {chunks} chunks");
                    return Err(Error::Corrupt(text).into());
                }
                Ok(())
            })
            .await
        })
    }

    fn snapshots(&self) -> Result<Vec<BrainSnapshot>, Error> {
        let (begin, query) = (self.settings.timeouts.begin(), self.sql(SNAPSHOTS));
        self.call(&self.bulk, async |client| {
            let rows = pipelined(client, &begin, client.query_typed(&query, &[])).await;
            Self::snapshots_of(&rows.map_err(self.failed("reading snapshots"))?)
        })
    }

    fn read_chunk(&self, id: SnapshotId, index: u32) -> Result<Vec<u8>, Error> {
        let query = self.sql(
            "SELECT CASE WHEN octet_length(bytes) <= $3 THEN bytes END, clock_timestamp() \
                 FROM @chunks WHERE snapshot = $1 AND index = $2",
        );
        let (key, number) = (id.0.as_slice(), index_of(index)?);
        let timeouts = self.settings.timeouts.for_bytes(MAX_CHUNK);
        let max = i32::try_from(MAX_CHUNK).unwrap_or(i32::MAX);
        let begin = timeouts.begin();
        let work = async |client: &Client, _| {
            let parameters: [Parameter<'_>; 3] =
                [(&key, Type::BYTEA), (&number, Type::INT4), (&max, Type::INT4)];
            let rows = pipelined(client, &begin, client.query_typed(&query, &parameters)).await;
            rows.map_err(|e| Failure::of(e, self.server.address(), "reading a chunk", &timeouts))
        };
        let is_unknown = std::cell::Cell::new(false);
        let rows = self.run(&self.bulk, timeouts.deadline, &is_unknown, &work)?;
        match rows.first() {
            Some(row) => get::<Option<Vec<u8>>>(row, 0)?.ok_or_else(|| {
                let text = format!(
                    "chunk {index} of snapshot {id} is larger than {MAX_CHUNK} bytes, which no \
                     machine writes"
                );
                Error::Corrupt(text)
            }),
            None => Err(Error::NotFound(format!("chunk {index} of snapshot {id}"))),
        }
    }

    fn delete_snapshot(&self, id: SnapshotId) -> Result<(), Error> {
        let statement = self.sql("DELETE FROM @snapshots WHERE id = $1");
        let key = id.0.as_slice();
        self.call(&self.bulk, async |client| {
            let phase = "deleting a snapshot";
            self.with_locked_head(client, phase, async |head| {
                let snapshots = self.snapshot_rows(client).await?;
                check_deletion(&snapshots, id, head_of(head)?.compacted)?;
                let deleted = client.execute_typed(&statement, &[(&key, Type::BYTEA)]).await;
                deleted.map_err(self.failed(phase))?;
                Ok(())
            })
            .await
        })
    }

    fn compact(&self, id: SnapshotId, max_silence: Duration) -> Result<Compaction, Error> {
        let update = self.sql("UPDATE @head SET compacted = $1");
        let delete = self.sql("DELETE FROM @batches WHERE number <= $1");
        let machines = self.sql(MACHINES);
        let mut deleted = 0;
        loop {
            // Each step locks the head, so that a snapshot is not deleted meanwhile.
            let (through, is_last, count) = self.call(&self.bulk, async |client| {
                let phase = "deleting old changes";
                self.with_locked_head(client, phase, async |head| {
                    let head = head_of(head)?;
                    let snapshots = self.snapshot_rows(client).await?;
                    let snapshot = snapshots.iter().find(|s| s.id == id && s.complete);
                    let snapshot = snapshot
                        .ok_or_else(|| Error::NotFound(format!("complete snapshot {id}")))?;
                    let rows = client.query_typed(&machines, &[]).await;
                    let rows = rows.map_err(self.failed(phase))?;
                    let machines = rows.iter().map(machine_of).collect::<Result<Vec<_>, _>>()?;
                    let end = compactable(snapshot, &machines, head.clock_ms, max_silence);
                    let through = end.min(head.compacted + COMPACTION_STEP).max(head.compacted);
                    let number = to_bigint(through);
                    let parameters: [Parameter<'_>; 1] = [(&number, Type::INT8)];
                    let moved = client.execute_typed(&update, &parameters).await;
                    moved.map_err(self.failed(phase))?;
                    let count = client.execute_typed(&delete, &parameters).await;
                    Ok((through, through >= end, count.map_err(self.failed(phase))?))
                })
                .await
            })?;
            deleted += count;
            if is_last {
                return Ok(Compaction { through, batches: deleted });
            }
        }
    }
}

fn index_of(index: u32) -> Result<i32, Error> {
    i32::try_from(index).map_err(|_| Error::TooLarge {
        subject: "the snapshot's list of chunks",
        size: u64::from(index),
        max: u64::from(i32::MAX.unsigned_abs()),
    })
}

fn snapshot_of(row: &Row) -> Result<BrainSnapshot, Error> {
    let chunks = number(row, 6)?;
    Ok(BrainSnapshot {
        id: SnapshotId::from_slice(get(row, 0)?)?,
        contains: position(row, 1)?,
        machine: get(row, 3)?,
        time_ms: get(row, 4)?,
        complete: get(row, 5)?,
        chunks: u32::try_from(chunks).unwrap_or(u32::MAX),
        bytes: number(row, 7)?,
    })
}
