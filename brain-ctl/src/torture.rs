//! `brain doctor --torture`: tests the store's promise on this disk.
//!
//! Writers store pages in a brain of its own, whose daemon is killed again and again. After each
//! kill, the files are read past the kernel's cache, and the next daemon must have every
//! acknowledged write. What the drive itself keeps in memory, no program can see: for that, the
//! promises are listed elsewhere, the power is cut, and the list is verified after the restart.

mod kernel_cache;
mod promises;
mod report;
mod scratch_brain;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use brain_protocol::{Fault, FaultCode, Get, Origin, PageRef, Put};

use self::{
    kernel_cache::CacheReads,
    promises::{ListHeading, Numbers, Promised, Promises, TestPage, promise_line, read_list},
    report::{Layer, TortureReport, Verdict},
    scratch_brain::{Caller, ScratchBrain, wait_until_answering},
};
use crate::{
    context::Context,
    end_signals::at_end_signals,
    fail,
    output::{Outcome, count, end_line_at_terminal, format_bytes, notice, write_stdout},
};

/// The number of concurrent writers.
const WRITERS: u32 = 4;
/// Maximum number of pages of a writer, so that the last comparison is short.
const MAX_PAGES: u32 = 500;
/// Maximum time between a start and its kill, in milliseconds.
const MAX_ROUND_MS: u64 = 3000;
const PROCESS: &str = "process";
const KERNEL_CACHE: &str = "kernel's cache";
const DRIVE_CACHE: &str = "drive's cache";

/// The brain, which the thread that waits for signals shares.
type SharedBrain = Arc<Mutex<ScratchBrain>>;

fn lock(brain: &SharedBrain) -> MutexGuard<'_, ScratchBrain> {
    brain.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the daemon again and again for about `seconds`, and compares.
///
/// # Errors
/// The fault of [`ScratchBrain::create`], or of a daemon that does not start at all. A broken
/// promise is part of the report.
pub(crate) fn torture(
    context: &Context,
    dir: Option<&Path>,
    seconds: u64,
) -> Result<Outcome, Fault> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let brain: SharedBrain = Arc::new(Mutex::new(ScratchBrain::create(dir)?));
    end_at_signals(&brain, true)?;
    if !context.quiet && !context.json {
        let place = lock(&brain).dir();
        notice(&format!("testing the disk at {} for about {seconds} s", place.display()));
    }
    let mut run = Run::new(&brain, new_seed());
    let result = run.rounds(deadline);
    let (file_system, drive_cache) = kernel_cache::describe(&lock(&brain).dir());
    let removed = lock(&brain).remove();
    result?;
    let report = run.report(file_system, drive_cache.as_deref());
    removed.and_then(|()| context.show(&report))
}

/// Writes for `seconds`, or until the power is cut, and prints each promise when it is made.
///
/// # Errors
/// As [`torture`]; `io` if a promise cannot be printed.
pub(crate) fn list_promises(
    context: &Context,
    dir: Option<&Path>,
    seconds: u64,
) -> Result<Outcome, Fault> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let brain: SharedBrain = Arc::new(Mutex::new(ScratchBrain::create(dir)?));
    end_at_signals(&brain, false)?;
    let (dir, seed) = (lock(&brain).dir(), new_seed());
    let heading = ListHeading { seed, boot_id: boot_id(), dir: dir.clone() };
    lock(&brain).keep_heading(&heading.to_string())?;
    write_stdout(format!("{heading}\n").as_bytes()).map_err(|e| fail::stdout(&e))?;
    if !context.quiet {
        notice(
            "keep these lines on another machine or terminal, and cut the power while they come",
        );
        notice("after the restart: brain doctor --verify FILE");
    }
    let mut run = Run::new(&brain, seed);
    run.prints_promises = true;
    let result = run.start().and_then(|()| run.write_until(deadline));
    lock(&brain).end();
    result?;
    notice(&format!("the time is over, and {} stays for --verify", dir.display()));
    Ok(Outcome::default())
}

/// Compares a list of promises with the brain that made them.
///
/// # Errors
/// `io` if the list cannot be read; `usage` if it is none. A broken promise is part of the report.
pub(crate) fn verify(context: &Context, list: &Path, dir: Option<&Path>) -> Result<Outcome, Fault> {
    let text = fs::read(list).map_err(|e| fail::file("read", list, &e))?;
    let (heading, promises) = read_list(&String::from_utf8_lossy(&text)).map_err(|problem| {
        fail::usage(format!("{} is no list of promises: {problem}", list.display()))
            .hint("make one: brain doctor --torture --promises > FILE")
    })?;
    let dir = dir.map_or_else(|| heading.dir.clone(), PathBuf::from);
    scratch_brain::check_heading(&dir, &heading.to_string())?;
    let brain: SharedBrain = Arc::new(Mutex::new(ScratchBrain::at(&dir)));
    let mut run = Run::new(&brain, heading.seed);
    run.writes = promises.values().map(|promised| u64::from(promised.acknowledged)).sum();
    run.promises = promises;
    match fs::metadata(dir.join("brain.redb")) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            run.losses.push(format!("{} has no store: all pages are lost", dir.display()));
        }
        _ => {
            end_at_signals(&brain, false)?;
            run.losses = run.compare_after_start();
            lock(&brain).end();
        }
    }
    let was_restarted = heading.boot_id != boot_id();
    let message = match was_restarted {
        true => {
            "the machine was restarted since; this says something about the drive only if its \
                 power was cut while lines came"
        }
        false => "the machine was not restarted since the promises were made",
    };
    let verdict = if was_restarted || !run.losses.is_empty() {
        Verdict::of(&run.losses)
    } else {
        Verdict::NotTested
    };
    let layers = vec![Layer { name: DRIVE_CACHE, verdict, message: message.into() }];
    let hint = Some(format!("{} has the test's pages, and nothing of yours", dir.display()));
    let (file_system, _) = kernel_cache::describe(&dir);
    context.show(&run.report_of(layers, file_system, hint))
}

/// A run of writers and kills.
struct Run<'a> {
    brain: &'a SharedBrain,
    seed: u64,
    numbers: Numbers,
    promises: Promises,
    kills: u32,
    writes: u64,
    cache: CacheReads,
    /// Promises that were broken although the kernel's cache was there, in words.
    losses: Vec<String>,
    /// Promises that were broken past the kernel's cache.
    losses_past_cache: Vec<String>,
    prints_promises: bool,
}

impl<'a> Run<'a> {
    fn new(brain: &'a SharedBrain, seed: u64) -> Self {
        Self {
            brain,
            seed,
            numbers: Numbers::new(seed),
            promises: Promises::new(),
            kills: 0,
            writes: 0,
            cache: CacheReads::default(),
            losses: Vec::new(),
            losses_past_cache: Vec::new(),
            prints_promises: false,
        }
    }

    /// Starts, writes, kills and compares until the deadline or the first loss. Every other round
    /// reads past the kernel's cache, so a loss shows which layer broke the promise.
    fn rounds(&mut self, deadline: Instant) -> Result<(), Fault> {
        self.start()?;
        for passes_cache in [false, true].into_iter().cycle() {
            let round = Duration::from_millis(150 + self.numbers.below(MAX_ROUND_MS));
            self.write_until(deadline.min(Instant::now() + round))?;
            if passes_cache {
                self.read_past_the_cache()?;
            }
            let losses = self.compare_after_start();
            let of_layer =
                if passes_cache { &mut self.losses_past_cache } else { &mut self.losses };
            of_layer.extend(losses);
            let has_loss = !self.losses.is_empty() || !self.losses_past_cache.is_empty();
            if has_loss || (passes_cache && Instant::now() >= deadline) {
                break;
            }
        }
        Ok(())
    }

    fn start(&self) -> Result<(), Fault> {
        lock(self.brain).start()?;
        wait_until_answering(self.brain)
    }

    /// Lets the writers write until `end`, then kills the daemon while they go on.
    fn write_until(&mut self, end: Instant) -> Result<(), Fault> {
        let is_killed = AtomicBool::new(false);
        let mut parts: Vec<Promises> = vec![Promises::new(); WRITERS as usize];
        for (page, promised) in &self.promises {
            if let Some(part) = parts.get_mut(page.writer as usize) {
                part.insert(*page, *promised);
            }
        }
        let results: Vec<Result<(Promises, u64), Fault>> = thread::scope(|scope| {
            let writers: Vec<_> = (0..)
                .zip(parts)
                .map(|(writer, promises)| {
                    let writer = Writer {
                        number: writer,
                        seed: self.seed,
                        caller: lock(self.brain).caller(),
                        numbers: Numbers::new(self.numbers.below(!0)),
                        prints_promises: self.prints_promises,
                    };
                    let is_killed = &is_killed;
                    scope.spawn(move || writer.write(promises, is_killed))
                })
                .collect();
            while Instant::now() < end
                && !writers.iter().any(std::thread::ScopedJoinHandle::is_finished)
            {
                thread::sleep(Duration::from_millis(1));
            }
            is_killed.store(true, Ordering::Relaxed);
            lock(self.brain).kill();
            let defect = || Fault::new(FaultCode::Internal, "a writer of the test ended early");
            writers
                .into_iter()
                .map(|writer| writer.join().map_err(|_| defect()).and_then(|result| result))
                .collect()
        });
        self.kills += 1;
        for result in results {
            let (promises, writes) = result?;
            self.promises.extend(promises);
            self.writes += writes;
        }
        Ok(())
    }

    /// Reads all files past the kernel's cache. Differences are losses.
    fn read_past_the_cache(&mut self) -> Result<(), Fault> {
        let dir = lock(self.brain).dir();
        let mut reads = kernel_cache::read_past(&dir).map_err(|e| fail::file("read", &dir, &e))?;
        self.losses_past_cache.append(&mut reads.differences);
        self.cache.add(reads);
        Ok(())
    }

    /// Starts the daemon and compares all pages with their promises. Returns the broken ones.
    fn compare_after_start(&self) -> Vec<String> {
        if let Err(fault) = self.start() {
            return vec![format!("the store cannot be used: {}", fault.message)];
        }
        let caller = lock(self.brain).caller();
        let problem = |(page, promised): (&TestPage, &Promised)| match read_body(&caller, *page) {
            Ok(body) => promised.problem(*page, self.seed, body.as_deref()),
            Err(fault) => Some(format!("{}: {}", page.slug(), fault.message)),
        };
        self.promises.iter().filter_map(problem).collect()
    }

    fn report(self, file_system: Option<String>, drive_cache: Option<&str>) -> TortureReport {
        let cache = &self.cache;
        let process = format!(
            "{}; after each, the store was opened again; {} were compared",
            count(self.kills.into(), "kill"),
            count(self.promises.len() as u64, "page"),
        );
        let how = match (cache.direct_bytes, cache.indirect_bytes) {
            (0, 0) => "nothing was written".to_owned(),
            (direct, 0) => format!("{} were read directly from the device", format_bytes(direct)),
            (direct, other) => format!(
                "{} were read directly from the device; for {}, the file system has no direct reads",
                format_bytes(direct),
                format_bytes(other)
            ),
        };
        let dropped = match cache.still_cached {
            0 => "the cache was then empty of these files, so the next start read the device, too"
                .to_owned(),
            bytes => format!("{} could not be dropped from the cache", format_bytes(bytes)),
        };
        // Without either way, the reads came from memory and prove nothing.
        let is_tested = cache.direct_bytes > 0 || cache.still_cached < cache.indirect_bytes;
        let verdict =
            if is_tested { Verdict::of(&self.losses_past_cache) } else { Verdict::NotTested };
        let drive = match drive_cache {
            Some(word) => format!("the kernel says \"{word}\" of it; "),
            None => String::new(),
        };
        let layers = vec![
            Layer { name: PROCESS, verdict: Verdict::of(&self.losses), message: process },
            Layer {
                name: KERNEL_CACHE,
                verdict,
                message: format!("{how}; {dropped}; names and sizes of files stay in memory"),
            },
            Layer {
                name: DRIVE_CACHE,
                verdict: Verdict::NotTested,
                message: format!(
                    "{drive}only a power cut shows whether the drive keeps what it confirmed: \
                     brain doctor --torture --promises"
                ),
            },
        ];
        self.report_of(layers, file_system, None)
    }

    fn report_of(
        &self,
        layers: Vec<Layer>,
        file_system: Option<String>,
        hint: Option<String>,
    ) -> TortureReport {
        TortureReport {
            status: Verdict::NotTested,
            dir: lock(self.brain).dir().display().to_string(),
            file_system,
            kills: self.kills,
            writes: self.writes,
            layers,
            lost: 0,
            losses: Vec::new(),
            hint,
        }
        .with_losses([&self.losses[..], &self.losses_past_cache].concat())
    }
}

/// Returns the body of a page, if there is one.
fn read_body(caller: &Caller, page: TestPage) -> Result<Option<String>, Fault> {
    match caller.call(Get { page: page_ref(page)?, version: None }) {
        Ok(found) => Ok(Some(found.body)),
        Err(fault) if fault.code == FaultCode::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn page_ref(page: TestPage) -> Result<PageRef, Fault> {
    Ok(PageRef { source: None, slug: fail::parse_slug(&page.slug())? })
}

/// A thread that writes until the daemon is killed.
struct Writer {
    number: u32,
    seed: u64,
    caller: Caller,
    numbers: Numbers,
    prints_promises: bool,
}

impl Writer {
    /// Writes, and returns the promises with those of this round, and the number of these.
    fn write(
        mut self,
        mut promises: Promises,
        is_killed: &AtomicBool,
    ) -> Result<(Promises, u64), Fault> {
        let mut writes = 0;
        while !is_killed.load(Ordering::Relaxed) {
            let known = promises.len() as u32;
            let is_new = known == 0 || (known < MAX_PAGES && self.numbers.below(3) == 0);
            let number = if is_new { known } else { self.numbers.below(known.into()) as u32 };
            let page = TestPage { writer: self.number, number };
            let promised = promises.entry(page).or_default();
            // A write without an answer may be there or not, so the next one has another number.
            promised.sent += 1;
            let write = promised.sent;
            let put = Put {
                page: page_ref(page)?,
                content: page.text(self.seed, write).into_bytes(),
                origin: Origin::Argument,
                allow_empty: false,
                expect: None,
            };
            match self.caller.call(put) {
                Ok(_) => promised.acknowledged = write,
                Err(_) if is_killed.load(Ordering::Relaxed) => break,
                Err(fault) => return Err(fault),
            }
            writes += 1;
            if self.prints_promises {
                write_stdout(promise_line(page, write).as_bytes()).map_err(|e| fail::stdout(&e))?;
            }
        }
        Ok((promises, writes))
    }
}

/// Kills the daemon when a signal ends this process, and removes its directory if `removes`.
fn end_at_signals(brain: &SharedBrain, removes: bool) -> Result<(), Fault> {
    let brain = Arc::clone(brain);
    at_end_signals(move |end| {
        let ended = match removes {
            true => lock(&brain).remove(),
            false => {
                lock(&brain).end();
                Ok(())
            }
        };
        end_line_at_terminal();
        if let Err(fault) = ended {
            notice(&fault.message);
        }
        end();
    })
}

/// Returns the kernel's id of this start of the machine.
fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if id.trim().is_empty() { "unknown".into() } else { id.trim().to_owned() }
}

/// Returns a number that no other run has.
fn new_seed() -> u64 {
    let since_epoch = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    since_epoch.as_nanos() as u64 ^ u64::from(std::process::id()) << 48
}
