//! Appends a batch in one round trip.

use std::cell::Cell;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::PostgresLog;
use super::failure::Failure;
use super::tables::{CLOCK, HEAD, HEAD_COLUMNS, Parameter, get, head_of, only, pipelined, signed};
use crate::state::check_batch;
use crate::{BatchId, Error, Head, NewBatch, Position};

/// Moves the head if everything is as expected, inserts the batch and notifies. The lock on the
/// lease's row makes a takeover wait until the batch is committed.
const APPEND: &str = "
WITH lease AS MATERIALIZED (
    SELECT 1 FROM @leases WHERE name = $7 AND fencing = $8 FOR SHARE
), moved AS (
    UPDATE @head SET number = number + 1, id = $3, time_ms = greatest(time_ms, $clock)
    WHERE number = $1 AND id = $2 AND schema <= $6
        AND EXISTS (SELECT FROM @machines WHERE name = $4)
        AND ($7 IS NULL OR EXISTS (SELECT FROM lease))
    RETURNING number, time_ms
), added AS (
    INSERT INTO @batches (number, id, predecessor, machine, time_ms, payload)
    SELECT number, $3, $2, $4, time_ms, $5 FROM moved RETURNING number
)
SELECT pg_notify($9, number::text) FROM added";

/// Returns the head, and why a batch was refused. It is a statement of its own: the one before
/// sees the tables as they were when it began to wait for the head's lock.
const OUTCOME: &str = "
SELECT $head, (SELECT id FROM @batches WHERE number = $1 + 1),
    EXISTS (SELECT FROM @machines WHERE name = $2),
    $3 IS NULL OR EXISTS (SELECT FROM @leases WHERE name = $3 AND fencing = $4)
FROM @head";

impl PostgresLog {
    pub(super) fn append_batch(
        &self,
        expected: &Position,
        batch: &NewBatch,
    ) -> Result<Head, Error> {
        check_batch(batch)?;
        let timeouts = self.settings.timeouts.for_bytes(batch.payload.len());
        let (append, outcome) =
            (self.sql(APPEND).replace("$clock", CLOCK), self.sql(OUTCOME).replace("$head", HEAD));
        let lease = batch.fence.as_ref().map(|fence| fence.lease.as_str());
        let fencing = batch.fence.as_ref().map(|fence| signed(fence.number));
        let (number, id, predecessor) =
            (signed(expected.number), batch.id.0.as_slice(), expected.id.0.as_slice());
        let schema = i32::try_from(self.settings.schema).unwrap_or(i32::MAX);
        let channel = self.settings.channel();
        let payload = batch.payload.as_slice();
        let append_parameters: [Parameter<'_>; 9] = [
            (&number, Type::INT8),
            (&predecessor, Type::BYTEA),
            (&id, Type::BYTEA),
            (&batch.machine, Type::TEXT),
            (&payload, Type::BYTEA),
            (&schema, Type::INT4),
            (&lease, Type::TEXT),
            (&fencing, Type::INT8),
            (&channel, Type::TEXT),
        ];
        let outcome_parameters: [Parameter<'_>; 4] = [
            (&number, Type::INT8),
            (&batch.machine, Type::TEXT),
            (&lease, Type::TEXT),
            (&fencing, Type::INT8),
        ];
        let work = async |client: &Client, left| {
            let limits = timeouts.within(left);
            let begin = limits.begin();
            let failed = |error| Failure::of(error, &self.server, "appending a batch", &limits);
            let body = async {
                let (added, outcome) = tokio::join!(
                    biased;
                    client.query_typed(&append, &append_parameters),
                    client.query_typed(&outcome, &outcome_parameters)
                );
                Ok((added?, outcome?))
            };
            let (added, outcome) = pipelined(client, &begin, body).await.map_err(failed)?;
            let row = only(&outcome, &self.server)?;
            let head = head_of(&row)?;
            if added.is_empty() { Ok(self.refused(head, &row, batch)?) } else { Ok(head) }
        };
        let is_unknown = Cell::new(false);
        let result = self.block_on(self.run(&self.writer, timeouts.deadline, &is_unknown, work));
        match result {
            // The last try failed for a known reason, but an earlier one may have committed.
            Err(source) if is_unknown.get() => {
                Err(Error::OutcomeUnknown { batch: batch.id, source: Box::new(source) })
            }
            result => result,
        }
    }

    /// Returns the head if an earlier try appended the batch, or else why it was refused.
    fn refused(&self, head: Head, row: &Row, batch: &NewBatch) -> Result<Head, Error> {
        let successor: Option<&[u8]> = get(row, HEAD_COLUMNS)?;
        if successor.map(BatchId::from_slice).transpose()? == Some(batch.id) {
            return Ok(head);
        }
        head.check_writer(self.settings.schema)?;
        if !get::<bool>(row, HEAD_COLUMNS + 1)? {
            return Err(Error::NotRegistered { machine: batch.machine.clone() });
        }
        match &batch.fence {
            Some(fence) if !get::<bool>(row, HEAD_COLUMNS + 2)? => {
                Err(Error::Fenced { lease: fence.lease.clone() })
            }
            _ => Err(Error::Moved(Box::new(head))),
        }
    }
}
