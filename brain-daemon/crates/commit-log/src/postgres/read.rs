//! Reads the head and batches, and waits for new ones.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::PostgresLog;
use super::failure::Failure;
use super::listener::WaitEnd;
use super::rows::{HEAD, Parameter, batch_of, get, head_of, single_row, to_bigint};
use super::session::pipelined;
use crate::checks::check_order;
use crate::{
    Batches, CommitLog, Delivery, Engine, Error, Head, Lease, LeaseOutcome, LeaseRequest,
    MAX_PAYLOAD, NewBatch, Position, ReadLimit,
};

/// The size of a payload is known without reading it. Of a first batch above the limit only the
/// size is returned, so that the caller can give its payload more time.
const READ: &str = "
SELECT number, id, predecessor, machine, time_ms,
    CASE WHEN total <= $3 THEN payload END, octet_length(payload), clock_timestamp() FROM (
    SELECT *, sum(octet_length(payload)) OVER (ORDER BY number) AS total, row_number() OVER w AS row
    FROM (SELECT * FROM @batches WHERE number > $1 ORDER BY number LIMIT $2) AS next
    WINDOW w AS (ORDER BY number)
) AS counted
WHERE row = 1 OR total <= $3 ORDER BY number";

impl CommitLog for PostgresLog {
    fn head(&self) -> Result<Head, Error> {
        let begin = self.settings.timeouts.begin();
        let query = self.sql(&format!("SELECT {HEAD} FROM @head"));
        self.call(&self.reader, async |client| {
            let rows = pipelined(client, &begin, client.query_typed(&query, &[])).await;
            let rows = rows.map_err(self.failed("reading the head"))?;
            Ok(head_of(&single_row(&rows, &self.server)?)?)
        })
    }

    fn read(&self, after: &Position, limit: ReadLimit) -> Result<Batches, Error> {
        let found = match self.read_within(after, limit)? {
            ReadResult::Batches(found) => found,
            ReadResult::Large { bytes } if bytes > MAX_PAYLOAD as u64 => {
                let number = after.number + 1;
                let text = format!(
                    "change {number} has {bytes} bytes; no machine writes more than {MAX_PAYLOAD}"
                );
                return Err(Error::Corrupt(text));
            }
            ReadResult::Large { bytes } => {
                match self.read_within(after, ReadLimit { batches: 1, bytes })? {
                    ReadResult::Batches(found) => found,
                    ReadResult::Large { .. } => {
                        let text = format!("change {} grew while it was read", after.number + 1);
                        return Err(Error::Corrupt(text));
                    }
                }
            }
        };
        found.head.check_reader(self.settings.schema)?;
        check_order(after, &found)?;
        Ok(found)
    }

    fn append(&self, expected: &Position, batch: &NewBatch) -> Result<Head, Error> {
        self.append_batch(expected, batch)
    }

    fn wait(&self, after: u64, timeout: Duration) -> Result<Option<u64>, Error> {
        let end = Instant::now() + timeout;
        // Without notifications, the head is looked at before the first pause.
        let mut should_pause = self.delivery() == Delivery::Notified;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if should_pause {
                // Notifications can be lost, so the head is looked at in any case.
                let pause = left.min(self.settings.timeouts.poll);
                match self.listener.as_ref().map(|listener| listener.wait(after, pause)) {
                    Some(WaitEnd::Notified(number)) => return Ok(Some(number)),
                    Some(WaitEnd::Interrupted) => return Ok(None),
                    Some(WaitEnd::TimedOut) => {}
                    None => std::thread::sleep(pause),
                }
            }
            let number = self.head()?.position.number;
            if number != after {
                return Ok(Some(number));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            should_pause = true;
        }
    }

    fn lease(&self, request: &LeaseRequest) -> Result<LeaseOutcome, Error> {
        self.take_lease(request)
    }

    fn release(&self, lease: &Lease) -> Result<(), Error> {
        self.end_lease(lease)
    }

    fn leases(&self) -> Result<Vec<Lease>, Error> {
        self.all_leases()
    }
}

/// What a read found.
enum ReadResult {
    Batches(Batches),
    /// The first batch is larger than the limit. It was not sent.
    Large {
        bytes: u64,
    },
}

impl PostgresLog {
    /// Reads batches, in the time that the limit needs on a slow link.
    fn read_within(&self, after: &Position, limit: ReadLimit) -> Result<ReadResult, Error> {
        let sent = usize::try_from(limit.bytes).unwrap_or(usize::MAX).min(MAX_PAYLOAD);
        let timeouts = self.settings.timeouts.for_bytes(sent);
        let begin = timeouts.begin();
        let (read, query) = (self.sql(READ), self.sql(&format!("SELECT {HEAD} FROM @head")));
        let (number, batches) = (to_bigint(after.number), i64::from(limit.batches.max(1)));
        // The server measures before it sends: a larger change is not fetched.
        let bytes = to_bigint(limit.bytes.min(MAX_PAYLOAD as u64));
        let work = async |client: &Client, _| {
            let parameters: [Parameter<'_>; 3] =
                [(&number, Type::INT8), (&batches, Type::INT8), (&bytes, Type::INT8)];
            let body = async {
                let (batches, head) = tokio::join!(
                    biased;
                    client.query_typed(&read, &parameters),
                    client.query_typed(&query, &[])
                );
                Ok((batches?, head?))
            };
            let rows = pipelined(client, &begin, body).await;
            let (rows, head) = rows
                .map_err(|e| Failure::of(e, self.server.address(), "reading changes", &timeouts))?;
            if let Some(first) = rows.first()
                && get::<Option<&[u8]>>(first, 5)?.is_none()
            {
                let bytes = u64::try_from(get::<i32>(first, 6)?).unwrap_or(0);
                return Ok(ReadResult::Large { bytes });
            }
            let head = head_of(&single_row(&head, &self.server)?)?;
            let batches = rows.iter().map(|row| batch_of(row, 0)).collect::<Result<_, _>>()?;
            Ok(ReadResult::Batches(Batches { batches, head }))
        };
        self.run(&self.reader, timeouts.deadline, &Cell::new(false), &work)
    }
}
