//! Writes the pages of the demonstration: a year of a person's notes, dated relative to today.

use std::collections::BTreeMap;

use brain_protocol::Fault;
use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

use super::{
    random::Random,
    world::{Article, Person, Project, World, slug},
};

/// Days of notes.
const DAYS: i64 = 365;
/// Number of random meetings; those of one day and project become one.
const MEETINGS: usize = 86;
/// Days before today that all have a daily note.
const RECENT_DAYS: i64 = 12;
/// Percentage of earlier days with a daily note.
const DAILY_PERCENT: usize = 30;

/// Writes notes, and collects dated lines for the pages of people and projects.
struct Writer<'a> {
    world: &'a World,
    random: Random,
    today: Date,
    /// Paths and texts of the finished pages.
    files: Vec<(String, String)>,
    /// Dated lines for the page of a slug.
    timelines: BTreeMap<String, Vec<(Date, String)>>,
    /// The number of daily notes so far.
    daily_notes: usize,
}

/// Returns the files of all pages: the path of each, and its text.
///
/// # Errors
/// As [`World::load`].
pub(super) fn write(seed: u64, today: Date) -> Result<Vec<(String, String)>, Fault> {
    let world = World::load()?;
    let mut writer = Writer {
        world: &world,
        random: Random::new(seed),
        today,
        files: Vec::new(),
        timelines: BTreeMap::new(),
        daily_notes: 0,
    };
    writer.meetings();
    writer.articles("ideas", "idea", &world.ideas);
    writer.articles("reading", "reading", &world.reading);
    writer.daily_notes();
    writer.people();
    writer.companies();
    writer.projects();
    Ok(writer.files)
}

impl Writer<'_> {
    /// Returns the day `age` days before today.
    fn days_ago(&self, age: i64) -> Date {
        self.today.saturating_sub(age.days())
    }

    /// Returns a random day of the last `days` days, without today.
    fn random_day(&mut self, days: i64) -> Date {
        let age = 1 + self.random.below(usize::try_from(days).unwrap_or(1));
        self.days_ago(i64::try_from(age).unwrap_or(1))
    }

    /// Adds a dated line to the timeline of a page.
    fn add_dated_line(&mut self, slug: &str, day: Date, line: &str) {
        self.timelines.entry(slug.to_owned()).or_default().push((day, line.to_owned()));
    }

    /// Takes the dated lines of a page, newest first, with the days of the oldest and of the
    /// newest. Without lines, both are a random day.
    fn take_timeline(&mut self, slug: &str) -> (String, Date, Date) {
        let mut lines = self.timelines.remove(slug).unwrap_or_default();
        lines.sort();
        lines.dedup();
        let created = lines.first().map_or_else(|| self.random_day(DAYS), |(day, _)| *day);
        let updated = lines.last().map_or(created, |(day, _)| *day);
        let mut text = String::new();
        for (day, line) in lines.iter().rev() {
            text.push_str(&format!("- {day} | {line}\n"));
        }
        (text, created, updated)
    }

    /// Adds a page, created and updated at these days.
    fn add_page(
        &mut self,
        slug: &str,
        frontmatter: &str,
        (created, updated): (Date, Date),
        body: &str,
    ) {
        let text = format!(
            "---\n{frontmatter}created: {created}\nupdated: {updated}\n---\n\n{}\n",
            body.trim_end()
        );
        self.files.push((format!("{slug}.md"), text));
    }

    fn meetings(&mut self) {
        let mut days: Vec<Date> = (0..MEETINGS).map(|_| self.random_day(DAYS)).collect();
        // Each demonstration has meetings in the last days.
        days.extend([1, 2, 4, 6].map(|age| self.days_ago(age)));
        days.sort();
        let mut slugs = std::collections::BTreeSet::new();
        for day in days {
            let day = match day.weekday() {
                Weekday::Saturday => day.saturating_sub(1.days()),
                Weekday::Sunday => day.saturating_sub(2.days()),
                _ => day,
            };
            let project = self.random.pick(&self.world.projects);
            let slug = format!("meetings/{day}-{}", project.tag);
            if slugs.insert(slug.clone()) {
                self.meeting(day, project, &slug);
            }
        }
    }

    fn meeting(&mut self, day: Date, project: &Project, page: &str) {
        let count = 1 + self.random.below(3);
        let mut people = self.random.sample(&self.world.people, count);
        if let Some(first) = self.world.people.first()
            && self.random.chance(20)
            && !people.iter().any(|person| person.name == first.name)
        {
            people.insert(0, first);
        }
        let topic = self.random.pick(&project.topics).clone();
        let decisions = self.random.sample(&project.decisions, 2);
        let task = self.random.pick(&project.tasks).clone();
        let opening = self.random.pick(&self.world.openings).clone();
        let mark = if self.random.chance(60) { "x" } else { " " };
        let slugs: Vec<String> =
            people.iter().map(|person| format!("people/{}", slug(&person.name))).collect();
        let names: Vec<&str> = people.iter().map(|person| first_name(person)).collect();
        let project_page = format!("projects/{}", slug(&project.name));
        let mut body = format!(
            "{opening} With {} about {topic}, for [[{project_page}|{}]].\n\n",
            links(&people),
            project.name
        );
        for decision in &decisions {
            body.push_str(&format!("- {decision}\n"));
        }
        body.push_str(&format!("\n## Next\n\n- [{mark}] {task} (with {})\n", names[0]));
        let title = format!("{} with {}", capitalise(&topic), join_names(&names));
        let frontmatter = format!(
            "title: {title}\ntype: meeting\ndate: {day}\ntags: [{}]\nattendees: [{}]\n",
            project.tag,
            slugs.join(", ")
        );
        self.add_page(page, &frontmatter, (day, day), &body);
        for slug in &slugs {
            self.add_dated_line(slug, day, &format!("Talked about {topic}, see [[{page}]]"));
        }
        if let Some(decision) = decisions.first() {
            self.add_dated_line(&project_page, day, &format!("{decision} See [[{page}]]"));
        }
    }

    fn articles(&mut self, directory: &str, kind: &str, articles: &[Article]) {
        for article in articles {
            let day = self.random_day(DAYS);
            let project = self.random.pick(&self.world.projects);
            let person = self.random.pick(&self.world.people);
            let mut body = String::new();
            if !article.quote.is_empty() {
                body.push_str(&format!("By {}.\n\n> {}\n\n", article.author, article.quote));
            }
            let project_page = format!("projects/{}", slug(&project.name));
            body.push_str(&format!(
                "{}\n\nGood for [[{project_page}|{}]]. Tell {}.\n",
                article.text,
                project.name,
                links(&[person])
            ));
            let page = format!("{directory}/{}", slug(&article.title));
            let frontmatter =
                format!("title: {}\ntype: {kind}\ntags: [{}]\n", article.title, project.tag);
            self.add_page(&page, &frontmatter, (day, day), &body);
            let verb = if kind == "idea" { "Idea" } else { "Read" };
            let line = format!("{verb}: [[{page}|{}]]", article.title);
            self.add_dated_line(&project_page, day, &line);
        }
    }

    fn daily_notes(&mut self) {
        for age in 1..DAYS {
            if age <= RECENT_DAYS || self.random.chance(DAILY_PERCENT) {
                self.daily_note(self.days_ago(age));
            }
        }
    }

    fn daily_note(&mut self, day: Date) {
        let project = self.random.pick(&self.world.projects);
        let person = self.random.pick(&self.world.people);
        let project_link = format!("projects/{}|{}", slug(&project.name), project.name);
        let person_link = format!("people/{}|{}", slug(&person.name), person.name);
        let work = self
            .random
            .pick(&self.world.work)
            .replace("{project}", &project_link)
            .replace("{person}", &person_link);
        self.daily_notes += 1;
        let mut body = format!("{} {work}\n", in_turn(&self.world.mornings, self.daily_notes));
        if self.random.chance(70) {
            let thought = in_turn(&self.world.thoughts, self.daily_notes);
            body.push_str(&format!("\n{thought}\n"));
        }
        // Old errands are done; some recent ones are open.
        let is_recent = day > self.days_ago(RECENT_DAYS);
        let mark = if is_recent && self.random.chance(50) { " " } else { "x" };
        if self.random.chance(if is_recent { 80 } else { 40 }) {
            let errand = in_turn(&self.world.errands, self.daily_notes);
            body.push_str(&format!("\n- [{mark}] {errand}\n"));
        }
        if self.random.chance(25) {
            let idea = self.random.pick(&self.world.ideas);
            let link = format!("[[ideas/{}|{}]]", slug(&idea.title), idea.title);
            body.push_str(&format!("\nStill thinking about {link}.\n"));
        }
        let title = day.strftime("%A, %-d %B %Y");
        let frontmatter = format!("title: {title}\ntype: daily\ndate: {day}\ntags: [daily]\n");
        self.add_page(&format!("daily/{day}"), &frontmatter, (day, day), &body);
    }

    fn people(&mut self) {
        for person in &self.world.people {
            let page = format!("people/{}", slug(&person.name));
            let company = &self.world.companies[person.company];
            let company_page = format!("companies/{}", slug(&company.name));
            let met = self.random.pick(&self.world.met).clone();
            let friend = self.random.pick(&self.world.people);
            let (timeline, created, updated) = self.take_timeline(&page);
            let mut body = format!(
                "{} is {} at [[{company_page}|{}]] in {}. We met {met}.\n\n{}\n",
                first_name(person),
                with_article(&person.role),
                company.name,
                company.city,
                person.fact
            );
            if friend.name != person.name {
                body.push_str(&format!("\nKnows {}.\n", links(&[friend])));
            }
            body.push_str(&format!("\n{timeline}"));
            let frontmatter = format!(
                "title: {}\ntype: person\ntags: [{}]\ncompany: {company_page}\n",
                person.name,
                slug(&company.city)
            );
            self.add_page(&page, &frontmatter, (created, updated), &body);
        }
    }

    fn companies(&mut self) {
        for (index, company) in self.world.companies.iter().enumerate() {
            let page = format!("companies/{}", slug(&company.name));
            let people: Vec<&Person> =
                self.world.people.iter().filter(|person| person.company == index).collect();
            let body = format!(
                "They {}. In {}.\n\n{}\n\nPeople: {}.\n",
                company.work,
                company.city,
                company.remark,
                links(&people)
            );
            let founders: Vec<String> = people
                .iter()
                .filter(|person| person.role.contains("founder"))
                .map(|person| format!("people/{}", slug(&person.name)))
                .collect();
            let founders = match founders.is_empty() {
                true => String::new(),
                false => format!("founders: [{}]\n", founders.join(", ")),
            };
            let city = slug(&company.city);
            let frontmatter =
                format!("title: {}\ntype: company\ntags: [{city}]\n{founders}", company.name);
            let day = self.random_day(DAYS);
            self.add_page(&page, &frontmatter, (day, day), &body);
        }
    }

    fn projects(&mut self) {
        for project in &self.world.projects {
            let page = format!("projects/{}", slug(&project.name));
            let owners = self.random.sample(&self.world.people, 2);
            let (timeline, created, updated) = self.take_timeline(&page);
            let mut body = format!("{} Done with {}.\n\n", project.purpose, links(&owners));
            body.push_str("## Decisions\n\n");
            for decision in &project.decisions {
                body.push_str(&format!("- {decision}\n"));
            }
            body.push_str("\n## Tasks\n\n");
            for task in &project.tasks {
                let mark = if self.random.chance(50) { "x" } else { " " };
                body.push_str(&format!("- [{mark}] {task}\n"));
            }
            body.push_str(&format!("\n## Timeline\n\n{timeline}"));
            let frontmatter =
                format!("title: {}\ntype: project\ntags: [{}]\n", project.name, project.tag);
            self.add_page(&page, &frontmatter, (created, updated), &body);
        }
    }
}

/// Returns the sentence for the note `number`. Consecutive notes get different sentences.
fn in_turn(sentences: &[String], number: usize) -> &str {
    sentences.get(number * 5 % sentences.len().max(1)).map_or("", String::as_str)
}

fn first_name(person: &Person) -> &str {
    person.name.split(' ').next().unwrap_or(&person.name)
}

/// Links people: `[[people/a|A]], [[people/b|B]] and [[people/c|C]]`.
fn links(people: &[&Person]) -> String {
    let links: Vec<String> = people
        .iter()
        .map(|person| format!("[[people/{}|{}]]", slug(&person.name), person.name))
        .collect();
    join_names(&links.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Joins texts: `A, B and C`.
fn join_names(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn capitalise(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::civil::date;

    use super::*;

    const TODAY: Date = date(2026, 11, 25);

    #[test]
    fn the_same_seed_and_day_write_the_same_pages() {
        let first = write(7, TODAY).expect("the word lists are valid");
        assert_eq!(first, write(7, TODAY).expect("valid"));
        assert_ne!(first, write(8, TODAY).expect("valid"));
        assert_ne!(first, write(7, date(2027, 2, 28)).expect("valid"));
    }

    #[test]
    fn pages_are_hundreds_and_every_link_has_a_target() {
        for seed in 0..20 {
            let files = write(seed, TODAY).expect("valid");
            assert!((280..400).contains(&files.len()), "{} pages", files.len());
            let paths: BTreeSet<&str> =
                files.iter().filter_map(|(path, _)| path.strip_suffix(".md")).collect();
            assert_eq!(paths.len(), files.len(), "no path is used twice");
            for (path, text) in &files {
                assert!(!text.contains('{'), "{path} has an unfilled place: {text}");
                for link in text.split("[[").skip(1) {
                    let target = link.split(['|', ']']).next().unwrap_or_default();
                    assert!(paths.contains(target), "{path} links {target}");
                }
            }
        }
    }

    #[test]
    fn dates_cover_a_year_and_none_is_in_the_future() {
        let files = write(7, TODAY).expect("valid");
        let days: BTreeSet<&str> = files
            .iter()
            .flat_map(|(_, text)| text.lines().filter_map(|line| line.strip_prefix("created: ")))
            .collect();
        assert!(days.len() > 100, "{} days", days.len());
        let (first, last) = (days.first().copied(), days.last().copied());
        assert!(first.is_some_and(|day| day < "2025-12-20"), "{first:?}");
        assert!(last.is_some_and(|day| day < "2026-11-25" && day > "2026-11-20"), "{last:?}");
    }
}
