//! Appends a batch in one round trip.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use brain_base::backoff::Backoff;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::PostgresLog;
use super::failure::Failure;
use super::rows::{HEAD_COLUMNS, Parameter, batch_of, get, head_of, single_row, to_bigint};
use super::session::pipelined;
use crate::checks::{check_batch, check_order};
use crate::{BatchId, Batches, Error, Head, NewBatch, Position};

/// The server keeps the plans of a function in each of its processes, also behind a pooler. The
/// same statements sent as text are planned at each append, which costs more than all else.
///
/// The head has a turn, so that a slow machine is not refused for ever: a refused machine has the
/// next turn for some milliseconds, and others wait until it has appended or the time is over.
/// A crash may forget a turn, so it is not flushed.
///
/// A function is never changed: a program with another one creates it under another number.
/// The lock on the lease's row makes a takeover wait until the batch is committed. A refused
/// append returns up to 16 batches that the machine has not seen, together at most 256 KiB: they
/// must arrive within the call's limit.
pub(super) const FUNCTION: &str = r"
CREATE OR REPLACE FUNCTION @append_1(
    in_number bigint, in_predecessor bytea, in_id bytea, in_machine text, in_payload bytea,
    in_schema integer, in_lease text, in_fencing bigint, in_channel text, in_turn_ms bigint
) RETURNS TABLE (
    brain bytea, number bigint, id bytea, time_ms bigint, clock_ms bigint, schema integer,
    min_reader integer, fencing bigint, compacted bigint, key_generation integer,
    added boolean, successor bytea, registered boolean, holds_lease boolean, has_turn boolean,
    new_number bigint, new_id bytea, new_predecessor bytea, new_machine text, new_time_ms bigint,
    new_payload bytea
) LANGUAGE plpgsql AS $append$
#variable_conflict use_column
DECLARE
    moved @head;
    is_holder boolean := true;
    now_ms bigint;
BEGIN
    IF in_lease IS NOT NULL THEN
        PERFORM 1 FROM @leases AS l
            WHERE l.name = in_lease AND l.fencing = in_fencing FOR SHARE;
        is_holder := FOUND;
    END IF;
    UPDATE @head AS h
        SET number = h.number + 1, id = in_id, time_ms = greatest(h.time_ms, $clock), turn = ''
        WHERE h.number = in_number AND h.id = in_predecessor AND h.schema <= in_schema
            AND is_holder AND EXISTS (SELECT FROM @machines AS m WHERE m.name = in_machine)
            AND (h.turn IN ('', in_machine) OR h.turn_until_ms <= $clock)
        RETURNING h.* INTO moved;
    IF FOUND THEN
        INSERT INTO @batches (number, id, predecessor, machine, time_ms, payload)
            VALUES (moved.number, in_id, in_predecessor, in_machine, moved.time_ms, in_payload);
        PERFORM pg_notify(in_channel, moved.number::text);
        RETURN QUERY SELECT moved.brain, moved.number, moved.id, moved.time_ms, $clock,
            moved.schema, moved.min_reader, moved.fencing, moved.compacted, moved.key_generation,
            true, in_id, true, true, true,
            NULL::bigint, NULL::bytea, NULL::bytea, NULL::text, NULL::bigint, NULL::bytea;
        RETURN;
    END IF;
    now_ms := $clock;
    UPDATE @head AS h SET turn = in_machine, turn_until_ms = now_ms + in_turn_ms
        WHERE h.number > in_number AND (h.turn IN ('', in_machine) OR h.turn_until_ms <= now_ms)
            AND h.schema <= in_schema AND is_holder
            AND EXISTS (SELECT FROM @machines AS m WHERE m.name = in_machine)
            AND NOT EXISTS (
                SELECT FROM @batches AS s WHERE s.number = in_number + 1 AND s.id = in_id);
    IF FOUND THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN QUERY SELECT h.brain, h.number, h.id, h.time_ms, $clock, h.schema, h.min_reader,
        h.fencing, h.compacted, h.key_generation,
        false, (SELECT s.id FROM @batches AS s WHERE s.number = in_number + 1),
        EXISTS (SELECT FROM @machines AS m WHERE m.name = in_machine), is_holder,
        h.number <> in_number OR h.id <> in_predecessor OR h.turn IN ('', in_machine),
        b.number, b.id, b.predecessor, b.machine, b.time_ms, b.payload
        FROM @head AS h LEFT JOIN (
            SELECT n.*, sum(octet_length(n.payload)) OVER (ORDER BY n.number) AS total
            FROM @batches AS n WHERE n.number > in_number AND n.number <= in_number + 16
        ) AS b ON b.total <= 262144
        ORDER BY b.number;
END
$append$;
";

/// Columns of the function's rows, after the head and `added`.
const SUCCESSOR: usize = HEAD_COLUMNS + 1;
const REGISTERED: usize = HEAD_COLUMNS + 2;
const HOLDS_LEASE: usize = HEAD_COLUMNS + 3;
const HAS_TURN: usize = HEAD_COLUMNS + 4;
const NEW: usize = HEAD_COLUMNS + 5;

/// The turn of a machine, which doubles with each refusal in a row.
const TURN: Backoff = Backoff::new(Duration::from_millis(25), Duration::from_millis(1600));
/// The pause while another machine has the turn.
const TURN_PAUSE: Duration = Duration::from_millis(2);

impl PostgresLog {
    pub(super) fn append_batch(
        &self,
        expected: &Position,
        batch: &NewBatch,
    ) -> Result<Head, Error> {
        check_batch(batch)?;
        let timeouts = self.settings.timeouts.for_bytes(batch.payload.len());
        let call = self.sql("SELECT * FROM @append_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
        let (number, predecessor) = (to_bigint(expected.number), expected.id.0.as_slice());
        let (id, payload) = (batch.id.0.as_slice(), batch.payload.as_slice());
        let schema = i32::try_from(self.settings.schema).unwrap_or(i32::MAX);
        let lease = batch.fence.as_ref().map(|fence| fence.lease.as_str());
        let fencing = batch.fence.as_ref().map(|fence| to_bigint(fence.number));
        let channel = self.settings.channel();
        let refusals = self.refusals.load(Ordering::Relaxed);
        let turn_ms = TURN.pause_ms(refusals);
        let parameters: [Parameter<'_>; 10] = [
            (&number, Type::INT8),
            (&predecessor, Type::BYTEA),
            (&id, Type::BYTEA),
            (&batch.machine, Type::TEXT),
            (&payload, Type::BYTEA),
            (&schema, Type::INT4),
            (&lease, Type::TEXT),
            (&fencing, Type::INT8),
            (&channel, Type::TEXT),
            (&turn_ms, Type::INT8),
        ];
        let work = async |client: &Client, left| {
            let limits = timeouts.within(left);
            let begin = limits.begin();
            let answer = pipelined(client, &begin, client.query_typed(&call, &parameters)).await;
            let rows = answer.map_err(|e| {
                Failure::of(e, self.server.address(), "appending a change", &limits)
            })?;
            Ok(self.outcome(expected, batch, &rows)?)
        };
        let is_unknown = Cell::new(false);
        let deadline = Instant::now() + timeouts.deadline;
        let result = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.run(&self.writer, left, &is_unknown, &work) {
                Ok(None) if left > TURN_PAUSE => std::thread::sleep(TURN_PAUSE),
                Ok(None) => break Err(self.server.unavailable("other machines write first", None)),
                Ok(Some(head)) => break Ok(head),
                Err(error) => break Err(error),
            }
        };
        self.conclude(result, is_unknown.get(), batch)
    }

    /// Counts a refusal for the machine's turn, and returns the result of all tries. `is_unknown`
    /// says that a try may have committed without an answer.
    fn conclude(
        &self,
        result: Result<Head, Error>,
        is_unknown: bool,
        batch: &NewBatch,
    ) -> Result<Head, Error> {
        match result {
            // A batch that found the head moved can never be appended, also by an earlier try.
            Err(Error::Moved(found)) => {
                self.refusals.fetch_add(1, Ordering::Relaxed);
                Err(Error::Moved(found))
            }
            Ok(head) => {
                self.refusals.store(0, Ordering::Relaxed);
                Ok(head)
            }
            // The last try failed for a known reason, but an earlier one may have committed.
            Err(source) if is_unknown => {
                Err(Error::OutcomeUnknown { batch: batch.id, source: Box::new(source) })
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the head if this or an earlier try appended the batch, or else why not. `None`
    /// means that another machine has the turn.
    fn outcome(
        &self,
        expected: &Position,
        batch: &NewBatch,
        rows: &[Row],
    ) -> Result<Option<Head>, Error> {
        let row = single_row(rows, &self.server)?;
        let head = head_of(&row)?;
        let successor: Option<&[u8]> = get(&row, SUCCESSOR)?;
        if successor.map(BatchId::from_slice).transpose()? == Some(batch.id) {
            return Ok(Some(head));
        }
        head.check_writer(self.settings.schema)?;
        if !get::<bool>(&row, REGISTERED)? {
            return Err(Error::NotRegistered { machine: batch.machine.clone() });
        }
        if let Some(fence) = &batch.fence
            && !get::<bool>(&row, HOLDS_LEASE)?
        {
            return Err(Error::Fenced { lease: fence.lease.clone() });
        }
        if !get::<bool>(&row, HAS_TURN)? {
            return Ok(None);
        }
        let mut found = Batches { batches: Vec::new(), head };
        for row in rows {
            if get::<Option<i64>>(row, NEW)?.is_some() {
                found.batches.push(batch_of(row, NEW)?);
            }
        }
        // A large batch is left out, and ends what can be applied.
        let follows = |index: usize, batch: &crate::Batch| {
            batch.position.number == expected.number + 1 + index as u64
        };
        let usable = found.batches.iter().enumerate().take_while(|(i, b)| follows(*i, b)).count();
        found.batches.truncate(usable);
        if check_order(expected, &found).is_err() {
            found.batches.clear();
        }
        Err(Error::Moved(Box::new(found)))
    }
}
