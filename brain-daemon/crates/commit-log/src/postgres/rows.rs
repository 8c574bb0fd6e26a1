//! Converts rows to values, and values to parameters.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::session::Server;
use crate::{Batch, BatchId, BrainId, Error, Head, Position};

/// The current time in Unix milliseconds. It differs between two uses in one statement.
///
/// It also makes a statement volatile. A pooler with a cache of queries, such as pgpool-II, keeps
/// the rows of other statements, and does not notice that a function changed their tables. It can
/// send them to a standby, too. So each `SELECT` has a volatile function.
pub(super) const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/// The columns of [`head_of`], before the first of a query's own columns.
pub(super) const HEAD: &str = "brain, number, id, time_ms, \
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, \
    schema, min_reader, fencing, compacted, key_generation";
/// How many columns [`HEAD`] has.
pub(super) const HEAD_COLUMNS: usize = 10;

/// Returns a column of a row.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Error> {
    row.try_get(index).map_err(|error| Error::Corrupt(format!("column {index} of a row: {error}")))
}

/// Returns a column with a number that is not negative.
pub(super) fn number(row: &Row, index: usize) -> Result<u64, Error> {
    u64::try_from(get::<i64>(row, index)?)
        .map_err(|_| Error::Corrupt(format!("column {index} of a row is negative")))
}

fn small_number(row: &Row, index: usize) -> Result<u32, Error> {
    u32::try_from(get::<i32>(row, index)?)
        .map_err(|_| Error::Corrupt(format!("column {index} of a row is negative")))
}

/// Returns the position in two columns.
pub(super) fn position(row: &Row, index: usize) -> Result<Position, Error> {
    Ok(Position { number: number(row, index)?, id: BatchId::from_slice(get(row, index + 1)?)? })
}

/// Returns the head from the columns of [`HEAD`].
pub(super) fn head_of(row: &Row) -> Result<Head, Error> {
    Ok(Head {
        brain: BrainId::from_slice(get(row, 0)?)?,
        position: position(row, 1)?,
        time_ms: get(row, 3)?,
        clock_ms: get(row, 4)?,
        schema: small_number(row, 5)?,
        min_reader: small_number(row, 6)?,
        fencing: number(row, 7)?,
        compacted: number(row, 8)?,
        key_generation: small_number(row, 9)?,
    })
}

/// Returns the batch in the columns from `first` on.
pub(super) fn batch_of(row: &Row, first: usize) -> Result<Batch, Error> {
    Ok(Batch {
        position: position(row, first)?,
        predecessor: BatchId::from_slice(get(row, first + 2)?)?,
        machine: get(row, first + 3)?,
        time_ms: get(row, first + 4)?,
        payload: get(row, first + 5)?,
    })
}

/// Returns the first row of a table that always has one.
pub(super) fn single_row(rows: &[Row], server: &Server) -> Result<Row, Error> {
    rows.first().cloned().ok_or_else(|| Error::NotCreated { address: server.address().to_owned() })
}

/// A parameter of a statement with its type.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Returns a number as PostgreSQL stores it.
pub(super) fn to_bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
