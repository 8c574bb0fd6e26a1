//! The instances of an event: its rule, further and excluded dates, and changed instances.

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};

use super::moment::{Moment, duration};
use super::old_rule::modern;
use super::rule::Rule;
use super::rule_words::words;
use super::zone::Zones;
use crate::content_line::Component;

/// Maximum number of instances that a page lists.
const MAX_INSTANCES: usize = 366;

/// A component with its times.
pub(super) struct Timed<'a> {
    pub(super) component: &'a Component,
    pub(super) start: Option<Moment>,
    pub(super) end: Option<Moment>,
    /// Of a changed instance: when it was before.
    original: Option<Moment>,
}

impl<'a> Timed<'a> {
    pub(super) fn of(component: &'a Component, zones: &mut Zones<'_>) -> Self {
        let start = first(component, "DTSTART", zones);
        let end = first(component, "DTEND", zones).or_else(|| {
            let length = duration(&component.text("DURATION"))?;
            start.as_ref()?.after(length)
        });
        let original = first(component, "RECURRENCE-ID", zones);
        Self { component, start: start.or_else(|| original.clone()), end, original }
    }

    /// Returns how long it takes.
    fn length(&self) -> Option<SignedDuration> {
        Some(self.start.as_ref()?.until(self.end.as_ref()?))
    }

    /// Returns whether it is a changed instance of a series.
    pub(super) fn is_instance(&self) -> bool {
        self.original.is_some()
    }

    fn is_cancelled(&self) -> bool {
        self.component.text("STATUS").eq_ignore_ascii_case("cancelled")
    }
}

fn first(component: &Component, name: &str, zones: &mut Zones<'_>) -> Option<Moment> {
    component.line(name).and_then(|line| Moment::all(line, zones).into_iter().next())
}

/// A line of the page: when an instance is.
pub(super) struct Instance {
    pub(super) start: Moment,
    /// Its text after the day: `19:00–20:30 Europe/Oslo`.
    pub(super) text: String,
}

/// All instances of an event.
#[derive(Default)]
pub(super) struct Series {
    /// In order.
    pub(super) instances: Vec<Instance>,
    /// How the event recurs; empty if it does not.
    pub(super) rule: String,
    /// What is not in the page, and why.
    pub(super) lost: Vec<String>,
}

impl Series {
    /// Returns the instances of a series and of its changed instances.
    pub(super) fn of(main: &Timed<'_>, changed: &[Timed<'_>], zones: &mut Zones<'_>) -> Self {
        let mut series = Self::default();
        let Some(start) = &main.start else { return series };
        let mut locals = if main.is_instance() { vec![start.local] } else { Vec::new() };
        if !main.is_instance() {
            locals = series.expand(main.component, start);
            let more = main.component.all("RDATE").flat_map(|line| Moment::all(line, zones));
            locals.extend(more.map(|moment| start.local_of(&moment)));
            let excluded = main.component.all("EXDATE").flat_map(|line| Moment::all(line, zones));
            let excluded: Vec<Moment> = excluded.collect();
            locals.retain(|local| !excluded.iter().any(|it| is_at(start, it, *local)));
            series.name_excluded(start, &excluded);
        }
        let title = main.component.text("SUMMARY");
        for instance in changed {
            if let Some(original) = &instance.original {
                locals.retain(|local| !is_at(start, original, *local));
            }
            series.add_changed(instance, &title);
        }
        locals.sort_unstable();
        locals.dedup();
        for local in locals {
            let start = start.at(local);
            let end = main.length().and_then(|length| start.after(length));
            let end = end.map(|end| main.end.as_ref().map_or(end.clone(), |it| it.at(end.local)));
            let mut text = start.span(end.as_ref());
            if main.is_cancelled() {
                text.push_str(", cancelled");
            }
            series.instances.push(Instance { start, text });
        }
        series.instances.sort_by_key(|instance| start.local_of(&instance.start));
        series
    }

    /// Returns the local times of the rule. Of a series without an end this is the first one: no
    /// page can have all, and "the next ones" would depend on the day of the import.
    fn expand(&mut self, component: &Component, start: &Moment) -> Vec<DateTime> {
        let mut locals = vec![start.local];
        let rules = component.all("RRULE").filter(|line| !line.raw().is_empty());
        for (n, line) in rules.enumerate() {
            let text = line.raw();
            if n > 0 {
                self.lost.push(format!("its second rule {text} is not read"));
                break;
            }
            let rule = Rule::parse(&text).or_else(|| Rule::parse(&modern(&text)?));
            let Some(rule) = rule else {
                self.rule = format!("by the rule {text}");
                self.lost
                    .push(format!("the rule {text} is not read; only its first date is listed"));
                continue;
            };
            let until = rule.until.as_deref().and_then(|text| until(text, start));
            self.rule = words(&rule);
            match (rule.count, &until) {
                (Some(count), _) => self.rule.push_str(&format!(", {count} times")),
                (None, Some(until)) if until.time() == Time::MAX => {
                    self.rule.push_str(&format!(", until {}", until.date()));
                }
                (None, Some(until)) => {
                    self.rule.push_str(&format!(", until {}", until.strftime("%Y-%m-%d %H:%M")));
                }
                (None, None) => self.rule.push_str(", without an end"),
            }
            if !rule.is_finite() {
                continue;
            }
            let mut more = rule.expand(start.local, until, MAX_INSTANCES + 1);
            if more.len() > MAX_INSTANCES {
                more.truncate(MAX_INSTANCES);
                self.rule.push_str(&format!("; the first {MAX_INSTANCES} are listed"));
            }
            locals.extend(more);
        }
        locals
    }

    /// Names the excluded dates of a series without an end, whose dates are not listed.
    fn name_excluded(&mut self, start: &Moment, excluded: &[Moment]) {
        if self.rule.ends_with("without an end") && !excluded.is_empty() {
            let days = excluded.iter().map(|it| start.at(start.local_of(it)).day());
            self.rule.push_str(&format!("; not on {}", days.collect::<Vec<_>>().join(", ")));
        }
    }

    fn add_changed(&mut self, instance: &Timed<'_>, title: &str) {
        let Some(start) = &instance.start else { return };
        let mut text = start.span(instance.end.as_ref());
        let own_title = brain_page::single_line(&instance.component.text("SUMMARY"));
        if own_title != *title && !own_title.is_empty() {
            text.push_str(&format!(" {own_title}"));
        }
        if let Some(original) = instance.original.as_ref().filter(|it| it.local != start.local) {
            text.push_str(&format!(" (moved from {})", original.shown()));
        }
        if instance.is_cancelled() {
            text.push_str(", cancelled");
        }
        self.instances.push(Instance { start: start.clone(), text });
        let range = instance.component.line("RECURRENCE-ID").and_then(|line| line.param("RANGE"));
        if range.is_some() {
            let day = start.day();
            self.lost.push(format!("a change of all instances from {day} on is only at that day"));
        }
    }
}

/// Returns whether a moment names the instance at a local time of the series. Some programs write
/// only its day.
fn is_at(start: &Moment, moment: &Moment, local: DateTime) -> bool {
    match moment.is_day {
        true => moment.local.date() == local.date(),
        false => start.local_of(moment) == local,
    }
}

/// Returns the last local time of a rule. `UNTIL` is a moment in UTC; a day alone is the whole day.
fn until(text: &str, start: &Moment) -> Option<DateTime> {
    let moment = Moment::parse(text, &std::rc::Rc::new(super::zone::Zone::Floating))?;
    match moment.is_day || start.is_day {
        true => Some(moment.local.date().to_datetime(Time::MAX)),
        false => Some(start.local_of(&moment)),
    }
}
