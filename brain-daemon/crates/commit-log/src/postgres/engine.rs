//! What the engine knows of its server: address, encryption, notifications, durability. Deletes a
//! log.

use std::time::Duration;

use super::listener::{NotificationListener, WaitEnd};
use super::rows::get;
use super::{Delivery, PostgresLog};
use crate::{BrainId, Durability, Engine, Error};

impl Engine for PostgresLog {
    fn address(&self) -> &str {
        self.server.address()
    }

    fn uses_tls(&self) -> bool {
        self.settings.url.uses_tls()
    }

    fn delivery(&self) -> Delivery {
        self.listener.as_ref().map_or(Delivery::Polling, NotificationListener::delivery)
    }

    fn wait_for_notification(&self, after: u64, limit: Duration) -> bool {
        let listener = self.listener.as_ref();
        listener
            .filter(|listener| listener.delivery() == Delivery::Notified)
            .is_some_and(|listener| matches!(listener.wait(after, limit), WaitEnd::Notified(_)))
    }

    fn interrupt(&self) {
        if let Some(listener) = &self.listener {
            listener.interrupt();
        }
    }

    fn durability(&self) -> Result<Option<Durability>, Error> {
        let query = "SELECT current_setting('fsync') = 'on', \
            current_setting('full_page_writes') = 'on', \
            current_setting('synchronous_commit'), \
            current_setting('synchronous_standby_names') <> '', clock_timestamp()";
        let row = self.call(&self.reader, async |client| {
            let row = client.query_typed_one(query, &[]).await;
            row.map_err(self.failed("reading the server's settings"))
        })?;
        Ok(Some(Durability {
            fsync: get(&row, 0)?,
            full_page_writes: get(&row, 1)?,
            synchronous_commit: get(&row, 2)?,
            has_synchronous_standby: get(&row, 3)?,
        }))
    }

    fn drop_log(&self, brain: BrainId) -> Result<(), Error> {
        self.drop_tables(brain)
    }

    fn drop_abandoned(&self, brain: BrainId, silence: Duration) -> Result<(), Error> {
        self.drop_abandoned_tables(brain, silence)
    }
}
