//! Appends a batch in one round trip.

use std::cell::Cell;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::PostgresLog;
use super::failure::Failure;
use super::read::{READ, batches_of};
use super::tables::{CLOCK, HEAD, HEAD_COLUMNS, Parameter, get, head_of, only, pipelined, signed};
use crate::batch::check_order;
use crate::state::check_batch;
use crate::{BatchId, Batches, Error, Head, NewBatch, Position, ReadLimit};

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

/// Returns the first batches after the expected head if another machine wrote them.
const MISSING: &str = "
SELECT * FROM ($read) AS missing
WHERE (SELECT id FROM @batches WHERE number = $1 + 1) IS DISTINCT FROM $4";

/// The statements and parameters of one append.
struct Request<'a> {
    append: String,
    outcome: String,
    missing: String,
    number: i64,
    predecessor: &'a [u8],
    id: &'a [u8],
    machine: &'a str,
    payload: &'a [u8],
    schema: i32,
    lease: Option<&'a str>,
    fencing: Option<i64>,
    channel: String,
}

/// The rows that the three statements return.
struct Answer {
    added: Vec<Row>,
    outcome: Vec<Row>,
    missing: Vec<Row>,
}

impl<'a> Request<'a> {
    fn new(log: &PostgresLog, expected: &'a Position, batch: &'a NewBatch) -> Self {
        Self {
            append: log.sql(APPEND).replace("$clock", CLOCK),
            outcome: log.sql(OUTCOME).replace("$head", HEAD),
            missing: log.sql(&MISSING.replace("$read", READ)),
            number: signed(expected.number),
            predecessor: &expected.id.0,
            id: &batch.id.0,
            machine: &batch.machine,
            payload: &batch.payload,
            schema: i32::try_from(log.settings.schema).unwrap_or(i32::MAX),
            lease: batch.fence.as_ref().map(|fence| fence.lease.as_str()),
            fencing: batch.fence.as_ref().map(|fence| signed(fence.number)),
            channel: log.settings.channel(),
        }
    }

    async fn send(&self, client: &Client, begin: &str) -> Result<Answer, tokio_postgres::Error> {
        let append: [Parameter<'_>; 9] = [
            (&self.number, Type::INT8),
            (&self.predecessor, Type::BYTEA),
            (&self.id, Type::BYTEA),
            (&self.machine, Type::TEXT),
            (&self.payload, Type::BYTEA),
            (&self.schema, Type::INT4),
            (&self.lease, Type::TEXT),
            (&self.fencing, Type::INT8),
            (&self.channel, Type::TEXT),
        ];
        let outcome: [Parameter<'_>; 4] = [
            (&self.number, Type::INT8),
            (&self.machine, Type::TEXT),
            (&self.lease, Type::TEXT),
            (&self.fencing, Type::INT8),
        ];
        let (batches, bytes) =
            (i64::from(ReadLimit::MOVED.batches), signed(ReadLimit::MOVED.bytes));
        let missing: [Parameter<'_>; 4] = [
            (&self.number, Type::INT8),
            (&batches, Type::INT8),
            (&bytes, Type::INT8),
            (&self.id, Type::BYTEA),
        ];
        let body = async {
            let (added, outcome, missing) = tokio::join!(
                biased;
                client.query_typed(&self.append, &append),
                client.query_typed(&self.outcome, &outcome),
                client.query_typed(&self.missing, &missing)
            );
            Ok(Answer { added: added?, outcome: outcome?, missing: missing? })
        };
        pipelined(client, begin, body).await
    }
}

impl PostgresLog {
    pub(super) fn append_batch(
        &self,
        expected: &Position,
        batch: &NewBatch,
    ) -> Result<Head, Error> {
        check_batch(batch)?;
        let timeouts = self.settings.timeouts.for_bytes(batch.payload.len());
        let request = Request::new(self, expected, batch);
        let work = async |client: &Client, left| {
            let limits = timeouts.within(left);
            let answer = request.send(client, &limits.begin()).await;
            let answer =
                answer.map_err(|e| Failure::of(e, &self.server, "appending a batch", &limits))?;
            Ok(self.outcome(expected, batch, &answer)?)
        };
        let is_unknown = Cell::new(false);
        match self.block_on(self.run(&self.writer, timeouts.deadline, &is_unknown, work)) {
            // A batch that found the head moved can never be appended, also by an earlier try.
            Err(Error::Moved(found)) => Err(Error::Moved(found)),
            // The last try failed for a known reason, but an earlier one may have committed.
            Err(source) if is_unknown.get() => {
                Err(Error::OutcomeUnknown { batch: batch.id, source: Box::new(source) })
            }
            result => result,
        }
    }

    /// Returns the head if this or an earlier try appended the batch, or else why not.
    fn outcome(
        &self,
        expected: &Position,
        batch: &NewBatch,
        answer: &Answer,
    ) -> Result<Head, Error> {
        let row = only(&answer.outcome, &self.server)?;
        let head = head_of(&row)?;
        let successor: Option<&[u8]> = get(&row, HEAD_COLUMNS)?;
        let is_present = successor.map(BatchId::from_slice).transpose()? == Some(batch.id);
        if is_present || !answer.added.is_empty() {
            return Ok(head);
        }
        head.check_writer(self.settings.schema)?;
        if !get::<bool>(&row, HEAD_COLUMNS + 1)? {
            return Err(Error::NotRegistered { machine: batch.machine.clone() });
        }
        if let Some(fence) = &batch.fence
            && !get::<bool>(&row, HEAD_COLUMNS + 2)?
        {
            return Err(Error::Fenced { lease: fence.lease.clone() });
        }
        let mut found = Batches { batches: batches_of(&answer.missing)?, head };
        if check_order(expected, &found).is_err() {
            found.batches.clear();
        }
        Err(Error::Moved(Box::new(found)))
    }
}
