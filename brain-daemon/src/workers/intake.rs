//! Makes pages of what was taken in, at once when there is little, and without being in the way of what comes in when there is
//! much.
//!
//! Taking an item in costs some microseconds, its page twenty times that: on the same cores, through the same writer. So
//! while items keep arriving the worker takes a small share, ten times a second. Moderate streams are worked off by that as
//! they come; of a flood the rest waits in the queue, where it is safe. When half of what may wait does, the worker stops
//! holding back: then those who send have to slow down, sooner than being refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use brain_core::Brain;
use brain_core::ingest::{CHUNK, Load};

/// Items that arrive faster than this, a second, are a stream. One client that sends the next item after the answer to the last
/// one is faster on every disk but the slowest.
const STREAM: u64 = 100;
/// The shortest time over which arrivals are counted.
const LOOK: Duration = Duration::from_millis(10);
/// Items that arrive faster than this, a second, are a flood: most of them wait anyway.
const FLOOD: u64 = 2000;
/// The worker's share of a stream, and of a flood: so many pages, and this pause after them.
const SHARE: usize = 64;
const LEAST: usize = 16;
const PAUSE: Duration = Duration::from_millis(100);
/// After a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// The longest rest; the clock may have been set meanwhile.
const REST: Duration = Duration::from_secs(60);
/// Items whose time is over are forgotten this often.
const FORGET_EVERY: Duration = Duration::from_secs(60);

/// Runs until `stop` is cancelled. What waits then waits for the next start.
pub async fn intake(brain: Arc<Brain>, stop: CancellationToken) {
    let mut pace = Pace::new(Instant::now());
    let mut forget_at = Instant::now();
    while !stop.is_cancelled() {
        let share = pace.share(Instant::now(), brain.ingest_load());
        let forget = forget_at <= Instant::now();
        let worker = Arc::clone(&brain);
        let turn = tokio::task::spawn_blocking(move || turn(&worker, share, forget));
        let (rest, forgot) = turn.await.unwrap_or_else(|_| {
            tracing::error!("a turn of the intake ended in a defect");
            (Rest::For(RETRY), false)
        });
        // A few at a time, so that a million of them do not keep pages waiting.
        if forget && !forgot {
            forget_at = Instant::now() + FORGET_EVERY;
        }
        let (time, arrival) = match rest {
            Rest::For(time) => (time, false),
            Rest::Until(time) => {
                (time.min(forget_at.saturating_duration_since(Instant::now())), true)
            }
        };
        if time.is_zero() {
            continue;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(time) => {}
            () = brain.item_arrives(), if arrival => {}
        }
    }
}

/// What comes after a turn.
enum Rest {
    /// So long, whatever arrives.
    For(Duration),
    /// So long, or until something arrives.
    Until(Duration),
}

/// Makes pages; forgets a few old items when it is to, and says whether there were any.
fn turn(brain: &Brain, share: Share, forget: bool) -> (Rest, bool) {
    let forgotten = if forget { brain.forget_items() } else { Ok(0) };
    let forgotten = forgotten.unwrap_or_else(|fault| {
        tracing::warn!(%fault, "old items are not forgotten");
        0
    });
    let until_due =
        |due: Option<u64>| Rest::Until(due.map_or(REST, Duration::from_millis).min(REST));
    let rest = match brain.work_off(share.most) {
        Ok(0) => match brain.until_due() {
            Ok(due) => until_due(due),
            Err(fault) => failed(&fault),
        },
        Ok(_) => Rest::For(share.pause),
        Err(fault) => failed(&fault),
    };
    (rest, forgotten > 0)
}

fn failed(fault: &brain_protocol::Fault) -> Rest {
    tracing::warn!(%fault, "the queue rests");
    Rest::For(RETRY)
}

/// How much of its time the worker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    /// So many pages at the most.
    most: usize,
    /// The pause after them.
    pause: Duration,
}

/// Watches how fast items arrive.
struct Pace {
    since: Instant,
    arrived: u64,
    /// Items a second, when it was last looked.
    rate: u64,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { since: now, arrived: 0, rate: 0 }
    }

    /// The share for the next turn.
    fn share(&mut self, now: Instant, load: Load) -> Share {
        let time = now.saturating_duration_since(self.since);
        if time >= LOOK {
            let arrivals = load.arrived.saturating_sub(self.arrived);
            self.rate = (arrivals as f64 / time.as_secs_f64()) as u64;
            (self.since, self.arrived) = (now, load.arrived);
        }
        match self.rate {
            _ if load.waiting >= load.bound / 2 => Share { most: CHUNK, pause: Duration::ZERO },
            FLOOD.. => Share { most: LEAST, pause: PAUSE },
            STREAM.. => Share { most: SHARE, pause: PAUSE },
            _ => Share { most: CHUNK, pause: Duration::ZERO },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Share = Share { most: CHUNK, pause: Duration::ZERO };
    const LITTLE: Share = Share { most: SHARE, pause: PAUSE };

    fn load(arrived: u64, waiting: u64) -> Load {
        Load { arrived, waiting, bound: 1000 }
    }

    #[test]
    fn a_single_item_is_taken_at_once_and_a_stream_is_not_hindered() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pace = Pace::new(start);
        assert_eq!(pace.share(at(5000), load(1, 1)), ALL, "one item after a long silence");
        assert_eq!(pace.share(at(5004), load(4, 3)), ALL, "too soon to tell");
        assert_eq!(pace.share(at(5011), load(5, 4)), LITTLE, "400 a second");
        assert_eq!(pace.share(at(5111), load(50, 40)), LITTLE);
        assert_eq!(pace.share(at(5211), load(55, 20)), ALL, "50 a second are no stream");
    }

    #[test]
    fn what_waits_after_a_flood_is_worked_off_although_a_few_still_come() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut arrived = 0;
        for second in 1..5 {
            arrived += 20;
            assert_eq!(pace.share(start + Duration::from_secs(second), load(arrived, 400)), ALL);
        }
    }

    #[test]
    fn a_queue_that_is_half_full_goes_before_the_stream() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let share = |pace: &mut Pace, ms, arrived, waiting| {
            pace.share(start + Duration::from_millis(ms), load(arrived, waiting))
        };
        assert_eq!(share(&mut pace, 100, 45, 499), LITTLE);
        assert_eq!(share(&mut pace, 200, 90, 500), ALL);
        assert_eq!(share(&mut pace, 300, 140, 499), LITTLE);
        let of_a_flood = Share { most: LEAST, pause: PAUSE };
        assert_eq!(share(&mut pace, 400, 640, 499), of_a_flood);
        assert_eq!(share(&mut pace, 500, 1140, 500), ALL);
    }
}
