//! The registry, the keys and the schema.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::PostgresLog;
use super::rows::{CLOCK, Parameter, get, position, single_row, to_bigint};
use super::session::pipelined;
use crate::checks::check_name;
use crate::{Administration, Error, Machine, MachineId, Registration, SealedKeys};

pub(super) const MACHINES: &str =
    "SELECT name, id, version, number, batch, seen_ms, clock_timestamp() FROM @machines";

impl PostgresLog {
    /// Runs one statement in a transaction and returns its rows.
    fn statement(
        &self,
        phase: &'static str,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        let begin = self.settings.timeouts.begin();
        let statement = self.sql(statement).replace("$clock", CLOCK);
        self.call(&self.reader, async |client| {
            let rows = pipelined(client, &begin, client.query_typed(&statement, parameters)).await;
            rows.map_err(self.failed(phase))
        })
    }

    /// Runs a statement about a machine and returns the changed row.
    fn change_machine(&self, statement: &str, entry: &Registration) -> Result<Option<Row>, Error> {
        let (id, number) = (entry.id.0.as_slice(), to_bigint(entry.position.number));
        let batch = entry.position.id.0.as_slice();
        let parameters: [Parameter<'_>; 5] = [
            (&entry.name, Type::TEXT),
            (&id, Type::BYTEA),
            (&entry.version, Type::TEXT),
            (&number, Type::INT8),
            (&batch, Type::BYTEA),
        ];
        Ok(self.statement("changing the registry", statement, &parameters)?.pop())
    }
}

impl Administration for PostgresLog {
    fn register(&self, machine: &Registration) -> Result<(), Error> {
        check_name(&machine.name)?;
        let statement = "
            INSERT INTO @machines AS m (name, id, version, number, batch, seen_ms)
            VALUES ($1, $2, $3, $4, $5, $clock)
            ON CONFLICT (name) DO UPDATE SET version = excluded.version,
                number = excluded.number, batch = excluded.batch, seen_ms = excluded.seen_ms
            WHERE m.id = excluded.id RETURNING name";
        match self.change_machine(statement, machine)? {
            Some(_) => Ok(()),
            None => Err(Error::NameTaken { machine: machine.name.clone() }),
        }
    }

    fn report(&self, machine: &Registration) -> Result<(), Error> {
        // Reads succeed without the rights that an append needs.
        let statement = "
            UPDATE @machines SET version = $3, number = $4, batch = $5, seen_ms = $clock
            WHERE name = $1 AND id = $2 RETURNING has_table_privilege('@batches', 'INSERT')
                AND has_table_privilege('@head', 'UPDATE')";
        let Some(row) = self.change_machine(statement, machine)? else {
            return Err(Error::NotRegistered { machine: machine.name.clone() });
        };
        match get(&row, 0)? {
            true => Ok(()),
            false => Err(Error::Denied {
                address: self.server.address().to_owned(),
                reason: "no right to insert into batches or to update head".into(),
            }),
        }
    }

    fn machines(&self) -> Result<Vec<Machine>, Error> {
        let query = format!("{MACHINES} ORDER BY name");
        self.statement("reading the registry", &query, &[])?.iter().map(machine_of).collect()
    }

    fn remove_machine(&self, name: &str) -> Result<bool, Error> {
        let statement = "DELETE FROM @machines WHERE name = $1 RETURNING name";
        let rows = self.statement("removing a machine", statement, &[(&name, Type::TEXT)])?;
        Ok(!rows.is_empty())
    }

    fn sealed_keys(&self) -> Result<SealedKeys, Error> {
        let query =
            "SELECT key_generation, (SELECT sealed FROM @keys), clock_timestamp() FROM @head";
        let rows = self.statement("reading the keys", query, &[])?;
        let row = single_row(&rows, &self.server)?;
        Ok(SealedKeys {
            generation: u32::try_from(get::<i32>(&row, 0)?).unwrap_or(0),
            bytes: get::<Option<Vec<u8>>>(&row, 1)?.unwrap_or_default(),
        })
    }

    fn replace_keys(&self, expected: u32, bytes: &[u8]) -> Result<u32, Error> {
        let statement = "
            WITH moved AS (
                UPDATE @head SET key_generation = key_generation + 1 WHERE key_generation = $1
                RETURNING key_generation
            )
            INSERT INTO @keys (sealed) SELECT $2 FROM moved
            ON CONFLICT (only_row) DO UPDATE SET sealed = excluded.sealed RETURNING only_row";
        let generation = i32::try_from(expected).unwrap_or(i32::MAX);
        let parameters: [Parameter<'_>; 2] = [(&generation, Type::INT4), (&bytes, Type::BYTEA)];
        let rows = self.statement("replacing the keys", statement, &parameters)?;
        if !rows.is_empty() {
            return Ok(expected + 1);
        }
        // A repetition after a lost answer finds its own bytes.
        match self.sealed_keys()? {
            keys if keys.generation == expected + 1 && keys.bytes == bytes => Ok(keys.generation),
            _ => Err(Error::KeysChanged),
        }
    }

    fn raise_schema(&self, schema: u32, min_reader: u32) -> Result<(), Error> {
        let statement = "
            UPDATE @head SET schema = greatest(schema, $1), min_reader = greatest(min_reader, $2)";
        let schema = i32::try_from(schema).unwrap_or(i32::MAX);
        let min_reader = i32::try_from(min_reader).unwrap_or(i32::MAX);
        self.statement(
            "raising the schema",
            statement,
            &[(&schema, Type::INT4), (&min_reader, Type::INT4)],
        )?;
        Ok(())
    }
}

pub(super) fn machine_of(row: &Row) -> Result<Machine, Error> {
    Ok(Machine {
        name: get(row, 0)?,
        id: MachineId::from_slice(get(row, 1)?)?,
        version: get(row, 2)?,
        position: position(row, 3)?,
        seen_ms: get(row, 5)?,
    })
}
