//! Takes, renews and ends leases. The server's clock decides what has expired.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::PostgresLog;
use super::rows::{CLOCK, Parameter, get, number, to_bigint};
use super::session::pipelined;
use crate::checks::check_name;
use crate::{Error, Lease, LeaseOutcome, LeaseRequest};

const CREATE: &str = "
INSERT INTO @leases (name, holder, fencing, expires_ms) VALUES ($1, '', 0, 0)
ON CONFLICT DO NOTHING";

/// A takeover gets its fencing number from the head row; a renewal keeps its number. The time is
/// taken once, before the wait for the row lock: a time that is too early permits no takeover.
const TAKE: &str = "
WITH clock AS MATERIALIZED (SELECT $clock AS now), stored AS MATERIALIZED (
    SELECT holder, fencing, expires_ms FROM @leases WHERE name = $1 FOR UPDATE
), renewed AS MATERIALIZED (
    SELECT fencing FROM stored WHERE holder = $2 AND fencing = $3
), counted AS (
    UPDATE @head SET fencing = fencing + 1
    WHERE NOT EXISTS (SELECT FROM renewed) AND EXISTS (
        SELECT FROM stored, clock
        WHERE expires_ms <= now OR (holder = $2 AND $3 IS NULL))
    RETURNING fencing
), granted AS MATERIALIZED (SELECT fencing FROM renewed UNION ALL SELECT fencing FROM counted)
UPDATE @leases AS lease SET holder = $2, fencing = granted.fencing, expires_ms = now + $4
FROM granted, clock WHERE name = $1
RETURNING name, holder, lease.fencing, expires_ms, now";

const LEASES: &str = "SELECT name, holder, fencing, expires_ms, $clock FROM @leases";

impl PostgresLog {
    pub(super) fn take_lease(&self, request: &LeaseRequest) -> Result<LeaseOutcome, Error> {
        check_name(&request.name)?;
        check_name(&request.holder)?;
        let begin = self.settings.timeouts.begin();
        let (create, take) = (self.sql(CREATE), self.sql(TAKE).replace("$clock", CLOCK));
        let query = self.sql(&format!("{LEASES} WHERE name = $1")).replace("$clock", CLOCK);
        let ttl = i64::try_from(request.ttl.as_millis()).unwrap_or(i64::MAX / 2);
        let fencing = request.fencing.map(to_bigint);
        let rows = self.call(&self.reader, async |client| {
            let name: [Parameter<'_>; 1] = [(&request.name, Type::TEXT)];
            let parameters: [Parameter<'_>; 4] = [
                (&request.name, Type::TEXT),
                (&request.holder, Type::TEXT),
                (&fencing, Type::INT8),
                (&ttl, Type::INT8),
            ];
            let body = async {
                let (created, taken, stored) = tokio::join!(
                    biased;
                    client.execute_typed(&create, &name),
                    client.query_typed(&take, &parameters),
                    client.query_typed(&query, &name)
                );
                created?;
                Ok((taken?, stored?))
            };
            let rows = pipelined(client, &begin, body).await;
            rows.map_err(self.failed("taking a lease"))
        })?;
        match (rows.0.first(), rows.1.first()) {
            (Some(granted), _) => Ok(LeaseOutcome::Granted(lease_of(granted)?)),
            (None, Some(stored)) => Ok(LeaseOutcome::Refused(lease_of(stored)?)),
            (None, None) => Err(Error::Corrupt("a lease has no row".into())),
        }
    }

    pub(super) fn end_lease(&self, lease: &Lease) -> Result<(), Error> {
        let begin = self.settings.timeouts.begin();
        let statement = self
            .sql(
                "UPDATE @leases SET expires_ms = least(expires_ms, $clock) \
                 WHERE name = $1 AND holder = $2 AND fencing = $3",
            )
            .replace("$clock", CLOCK);
        let fencing = to_bigint(lease.fencing);
        self.call(&self.reader, async |client| {
            let parameters: [Parameter<'_>; 3] =
                [(&lease.name, Type::TEXT), (&lease.holder, Type::TEXT), (&fencing, Type::INT8)];
            let body = client.execute_typed(&statement, &parameters);
            pipelined(client, &begin, body).await.map_err(self.failed("ending a lease"))?;
            Ok(())
        })
    }

    pub(super) fn all_leases(&self) -> Result<Vec<Lease>, Error> {
        let begin = self.settings.timeouts.begin();
        let query = self.sql(&format!("{LEASES} ORDER BY name")).replace("$clock", CLOCK);
        let rows = self.call(&self.reader, async |client| {
            let rows = pipelined(client, &begin, client.query_typed(&query, &[])).await;
            rows.map_err(self.failed("reading leases"))
        })?;
        rows.iter().map(lease_of).collect()
    }
}

fn lease_of(row: &Row) -> Result<Lease, Error> {
    Ok(Lease {
        name: get(row, 0)?,
        holder: get(row, 1)?,
        fencing: number(row, 2)?,
        expires_ms: get(row, 3)?,
        clock_ms: get(row, 4)?,
    })
}
