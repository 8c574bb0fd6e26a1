//! Builds a plan: from the units of a question, from its options, and with other spellings.

use std::collections::HashSet;

use super::{
    super::{
        Question,
        days::keys_of_condition,
        document::Analyzer,
        encoding::{HashedTerm, hashed_key, key},
        exact,
        language::{Lang, of_question, stop_words},
        name_key::{key_of_words, tag_key},
        name_query::NameQuery,
        numbers,
        query::{Filter, Query, Reach, Unit, Word, simple_words, words},
        token::Kind,
    },
    MAX_GROUPS, PageCondition, Pair, Phrase, Plan, Sequence, SequenceWord, WordGroup,
};

/// Weight of the exact form of a word, with its accents or without an apostrophe.
const EXACT_WEIGHT: f32 = 0.6;
/// Weight of the exact form of a word with signs, in a question of other words, too.
const SIGNS_WEIGHT: f32 = 1.2;
/// Weight of the exact form of `C`, `C++` or `C#` alone: more than many occurrences of another one.
const ALONE_WEIGHT: f32 = 4.0;
/// Weight of a number of which the question's number is the beginning, or all of it.
const NUMBER_WEIGHT: f32 = 1.1;
/// Weight of a word of a day that ranks pages itself.
const DAY_WORD_WEIGHT: f32 = 0.3;
/// Weight of a code in any groups.
const CODE_WEIGHT: f32 = 2.0;
/// Maximum words that may be one word.
const MAX_JOINED_WORDS: usize = 3;
/// Maximum words of a phrase.
const MAX_PHRASE: usize = 32;
/// Maximum words of a sequence that are compared.
const MAX_SEQUENCE: usize = 64;

impl Plan {
    /// Creates the plan of `question` for pages in `languages`.
    pub(crate) fn new(question: &Question, languages: &[Lang], analyzer: &mut Analyzer) -> Self {
        let query = &question.query;
        let mut builder = Builder::new(languages, analyzer);
        let is_being_typed = question.is_being_typed && query.ends_with_words();
        let day = question.day_words.clone().and_then(|range| query.plain.get(range));
        builder.add_words(query, is_being_typed, question.prefer_quotes, day.unwrap_or_default());
        builder.add_conditions(query, question.prefer_quotes);
        if question.asks_for_links {
            builder.plan.sequences.clear();
            builder.plan.pairs.clear();
        }
        let mut plan = builder.plan.with_options(question);
        if question.names_only && question.view.is_none() {
            plan.names_only = true;
            plan.groups.clear();
            plan.pairs.clear();
            plan.sequences.clear();
        }
        plan
    }

    /// Creates a plan for the pages that meet the conditions of `question`, without its words.
    pub(crate) fn conditions(
        question: &Question,
        languages: &[Lang],
        analyzer: &mut Analyzer,
    ) -> Self {
        let mut builder = Builder::new(languages, analyzer);
        builder.add_conditions(&question.query, question.prefer_quotes);
        builder.plan.with_options(question)
    }

    /// Adds the conditions of the question's options.
    fn with_options(self, question: &Question) -> Self {
        let mut plan = self;
        if let Some(condition) = &question.days {
            let keys = keys_of_condition(condition);
            plan.required.push(PageCondition::Keys(
                keys.iter().map(|day| hashed_key(key::DAY, day)).collect(),
            ));
        }
        if plan.is_empty() {
            return plan;
        }
        if let Some(sources) = &question.sources {
            plan.required.push(PageCondition::Keys(
                sources.iter().map(|s| hashed_key(key::SOURCE, s.as_str())).collect(),
            ));
        }
        if let Some(page_type) = &question.page_type {
            let key = hashed_key(key::TYPE, &page_type.trim().to_lowercase());
            plan.required.push(PageCondition::Keys(vec![key]));
        }
        for tag in &question.tags {
            plan.required.push(PageCondition::Keys(vec![hashed_key(key::TAG, &tag_key(tag))]));
        }
        plan.since = question.since;
        plan.until = question.until;
        plan
    }

    /// Adds another spelling of the word of `group` with `weight`, and gives it the word's pairs.
    /// Does nothing if another group has the same terms, or if the plan has the maximum of groups.
    pub(crate) fn add_spelling(
        &mut self,
        group: usize,
        text: &str,
        weight: f32,
        analyzer: &mut Analyzer,
    ) {
        let mut builder = Builder { plan: std::mem::take(self), analyzer };
        let (scope, times) =
            (builder.plan.groups[group].scope, builder.plan.groups[group].multiplier);
        let word = Word {
            text: text.to_owned(),
            range: 0..0,
            exact: None,
            is_alone: false,
            position: 0,
            kind: Kind::Word,
            is_number_part: false,
        };
        let mut spelled = WordGroup { multiplier: 0.0, ..builder.word_group(&word, scope) };
        // The text may be a stem.
        if spelled.terms.iter().all(|term| term.text != text) {
            spelled.terms.push(HashedTerm::new(text));
        }
        let index = builder.plan.groups.len();
        if builder.plan.groups.iter().all(|known| known.terms != spelled.terms)
            && index < MAX_GROUPS
        {
            spelled.multiplier = times * weight;
            spelled.spelling_of = Some(group);
            builder.plan.groups.push(spelled);
            let replaced = |at: usize| if at == group { index } else { at };
            let pairs =
                builder.plan.pairs.iter().filter(|it| it.first == group || it.second == group);
            let pairs: Vec<Pair> = pairs
                .map(|it| Pair { first: replaced(it.first), second: replaced(it.second), ..*it })
                .collect();
            builder.plan.pairs.extend(pairs);
        }
        *self = builder.plan;
    }
}

/// Builds a plan from a question.
struct Builder<'a> {
    plan: Plan,
    analyzer: &'a mut Analyzer,
}

impl<'a> Builder<'a> {
    fn new(languages: &[Lang], analyzer: &'a mut Analyzer) -> Self {
        let languages = languages.to_vec();
        Self { plan: Plan { languages, ..Plan::default() }, analyzer }
    }

    /// Adds the groups that rank, their pairs, the sequences, and the question as a name. The words
    /// of `day` count less.
    fn add_words(&mut self, query: &Query, is_being_typed: bool, prefer_quotes: bool, day: &str) {
        self.plan.names = NameQuery::new(query, is_being_typed);
        let texts: Vec<&(Unit, Vec<Word>)> =
            query.units.iter().filter(|(unit, _)| unit.plain_text().is_some()).collect();
        let stop = self.stop_words(&texts);
        let is_stop = |word: &Word| word.kind == Kind::Word && stop.contains(word.text.as_str());
        for (unit, words) in texts.iter().copied() {
            let is_title = matches!(unit, Unit::Required(_, Reach::Title));
            let scope = if is_title { Reach::Title } else { Reach::Anywhere };
            self.add_ranked_words(words, scope, is_stop);
        }
        for (unit, words) in texts.iter().copied() {
            if let Unit::Words(text) = unit {
                self.add_joined_words(words, is_stop);
                self.add_codes(text, day);
            }
        }
        self.weaken_words(day);
        for (unit, words) in texts.iter().copied() {
            match unit {
                Unit::Required(_, Reach::Anywhere) if prefer_quotes => {
                    self.add_sequence(words, true, is_stop);
                }
                Unit::Words(_) => self.add_sequence(words, false, is_stop),
                _ => {}
            }
        }
        // The last word may be a beginning of a word in titles.
        if is_being_typed
            && let Some(last) = texts.last().and_then(|(_, words)| words.last())
            && last.text.len() > 1
        {
            let beginning = self.prefix_group(&last.text, Reach::Title);
            self.add_group(beginning);
        }
        for (unit, words) in &query.units {
            let Unit::Prefix(_, scope) = unit else { continue };
            let Some((last, words)) = words.split_last() else { continue };
            self.add_ranked_words(words, *scope, |_| false);
            let group = match last.kind {
                Kind::Word | Kind::Whole => self.prefix_group(&last.text, *scope),
                Kind::Pair | Kind::Lone | Kind::Tail => self.word_group(last, *scope),
            };
            self.add_group(group);
        }
    }

    /// Returns the stop words of a question. Adds its language to those of the plan.
    fn stop_words<'t>(&mut self, texts: &[&'t (Unit, Vec<Word>)]) -> HashSet<&'t str> {
        let all = || texts.iter().flat_map(|(_, words)| words);
        let plain_words: Vec<&str> =
            all().filter(|w| w.kind == Kind::Word).map(|w| w.text.as_str()).collect();
        if let Some(lang) = of_question(&plain_words, &self.plan.languages)
            && !self.plan.languages.contains(&lang)
        {
            self.plan.languages.push(lang);
        }
        let stop = stop_words(&plain_words, &self.plan.languages);
        if stop.is_empty() && all().any(|w| w.kind != Kind::Word) {
            // Beside tokens of other kinds, stop words are dropped even if there is no other word.
            // The added word is a stop word in no language.
            return stop_words(&[&plain_words[..], &["\u{0}"]].concat(), &self.plan.languages);
        }
        stop
    }

    /// Adds the words of a text as a sequence.
    fn add_sequence(&mut self, words: &[Word], is_quoted: bool, is_stop: impl Fn(&Word) -> bool) {
        let mut sequence = Sequence { words: Vec::with_capacity(words.len()), is_quoted };
        let is_searched = |word: &&Word| word.kind != Kind::Lone && !word.is_number_part;
        for word in words.iter().filter(is_searched).take(MAX_SEQUENCE) {
            let forms = self.forms(word);
            let group = (!is_stop(word))
                .then(|| self.plan.groups.iter().position(|group| group.terms == forms))
                .flatten();
            sequence.words.push(SequenceWord {
                text: word.text.clone(),
                position: word.position,
                group,
                forms,
            });
        }
        self.plan.sequences.push(sequence);
    }

    /// Adds a group for each word, and a pair for each two that follow each other.
    fn add_ranked_words(&mut self, words: &[Word], scope: Reach, is_stop: impl Fn(&Word) -> bool) {
        let mut previous: Option<(usize, u32)> = None;
        for word in words {
            if is_stop(word) || word.is_number_part {
                continue;
            }
            let group = self.word_group(word, scope);
            let Some(index) = self.add_group(group) else { return };
            if let Some((first, position)) = previous {
                let pair = Pair { first, second: index, distance: word.position - position };
                if first != index && scope == Reach::Anywhere && !self.plan.pairs.contains(&pair) {
                    self.plan.pairs.push(pair);
                }
            }
            previous = Some((index, word.position));
        }
    }

    /// Makes the words of a day count less: the day itself ranks the pages that state it.
    fn weaken_words(&mut self, day: &str) {
        for word in words(day).iter().filter(|word| !word.is_number_part) {
            let group = self.group_of(word).and_then(|group| self.plan.groups.get_mut(group));
            group.into_iter().for_each(|it| it.multiplier = it.multiplier.min(DAY_WORD_WEIGHT));
        }
    }

    /// Adds a group for each code, so that pages with other groups of its digits are found. The
    /// digits of `day` are no code.
    fn add_codes(&mut self, text: &str, day: &str) {
        let day: String = day.chars().filter(char::is_ascii_digit).collect();
        let mut codes = Vec::new();
        numbers::each_code(text, &mut |code| codes.push(code.to_owned()));
        for code in codes.into_iter().filter(|code| *code != day) {
            let group = WordGroup {
                exact: Some(HashedTerm::new(exact::key_of_code(&code))),
                exact_weight: CODE_WEIGHT,
                prefix: None,
                ..self.prefix_group(&code, Reach::Anywhere)
            };
            self.add_group(group);
        }
    }

    /// Adds a group for adjacent words as one word: pages that have `database` or `cachedMetadata`
    /// are found by `data base` and `cached metadata`.
    fn add_joined_words(&mut self, words: &[Word], is_stop: impl Fn(&Word) -> bool) {
        let is_plain =
            |word: &Word| word.kind == Kind::Word && !word.is_number_part && word.text.len() > 1;
        let groups: Vec<Option<usize>> = words.iter().map(|word| self.group_of(word)).collect();
        for count in 2..=MAX_JOINED_WORDS {
            for (window, groups) in words.windows(count).zip(groups.windows(count)) {
                let distance = window[count - 1].position - window[0].position;
                let stop_words = window.iter().filter(|word| is_stop(word)).count();
                let is_adjacent = distance as usize == count - 1 && window.iter().all(is_plain);
                // A question can be an identifier: `on page saved` is `onPageSaved`.
                let may_have_stop_word = count == 2 || words.len() == count;
                if !is_adjacent || stop_words > usize::from(may_have_stop_word) {
                    continue;
                }
                let parts: Vec<usize> = groups.iter().copied().flatten().collect();
                let text: String = window.iter().map(|word| word.text.as_str()).collect();
                let forms = self.forms_of(&text);
                let is_known = |it: &WordGroup| it.terms == forms;
                let has_place = self.plan.groups.len() < MAX_GROUPS;
                if has_place && !parts.is_empty() && !self.plan.groups.iter().any(is_known) {
                    self.plan.groups.push(WordGroup {
                        terms: forms,
                        joined: parts,
                        prefix: None,
                        ..self.prefix_group(&text, Reach::Anywhere)
                    });
                }
            }
        }
    }

    /// Returns the group of a word; `None` for a stop word.
    fn group_of(&mut self, word: &Word) -> Option<usize> {
        let forms = self.forms(word);
        self.plan.groups.iter().position(|group| group.terms == forms)
    }

    /// Adds `group`, or counts it again if the plan has it. Returns its index; `None` if the plan
    /// has the maximum of groups.
    fn add_group(&mut self, group: WordGroup) -> Option<usize> {
        let is_same = |other: &WordGroup| {
            let has_signs = other.tells_signs() || group.tells_signs();
            other.scope == group.scope
                && other.prefix == group.prefix
                && other.terms == group.terms
                && (other.exact == group.exact || !has_signs)
        };
        if let Some(index) = self.plan.groups.iter().position(is_same) {
            self.plan.groups[index].multiplier += 1.0;
            return Some(index);
        }
        if self.plan.groups.len() >= MAX_GROUPS {
            return None;
        }
        self.plan.groups.push(group);
        Some(self.plan.groups.len() - 1)
    }

    fn word_group(&mut self, word: &Word, scope: Reach) -> WordGroup {
        if word.kind == Kind::Lone {
            return self.prefix_group(&word.text, scope);
        }
        let tells_signs = word.exact.as_deref().is_some_and(exact::tells_signs);
        WordGroup {
            terms: self.forms(word),
            exact: word.exact.as_deref().map(HashedTerm::new),
            is_number: word.kind == Kind::Whole && numbers::is_number(&word.text),
            exact_weight: match (tells_signs, word.is_alone) {
                (false, _) if word.kind == Kind::Whole => NUMBER_WEIGHT,
                (false, _) => EXACT_WEIGHT,
                (true, false) => SIGNS_WEIGHT,
                (true, true) => ALONE_WEIGHT,
            },
            ..self.prefix_group(&word.text, scope)
        }
        .without_prefix()
    }

    fn prefix_group(&self, text: &str, scope: Reach) -> WordGroup {
        WordGroup {
            label: text.to_owned(),
            multiplier: 1.0,
            terms: Vec::new(),
            prefix: Some(text.to_owned()),
            scope,
            tag: hashed_key(key::TAG_WORD, text),
            slug: hashed_key(key::SLUG_WORD, text),
            exact: None,
            exact_weight: EXACT_WEIGHT,
            is_number: false,
            joined: Vec::new(),
            spelling_of: None,
        }
    }

    /// Returns the terms of `word` in each language.
    fn forms(&mut self, word: &Word) -> Vec<HashedTerm> {
        if word.kind != Kind::Word || word.text.bytes().all(|b| b.is_ascii_digit()) {
            let forms = numbers::other_forms(&word.text);
            return [word.text.clone()].into_iter().chain(forms).map(HashedTerm::new).collect();
        }
        self.forms_of(&word.text)
    }

    /// Returns the terms of a word of letters in each language.
    fn forms_of(&mut self, word: &str) -> Vec<HashedTerm> {
        self.analyzer.forms(word, &self.plan.languages)
    }

    fn phrase(&mut self, words: &[Word], scope: Reach) -> Phrase {
        let words = words.iter().filter(|word| !word.is_number_part).take(MAX_PHRASE);
        Phrase { words: words.map(|word| (word.position, self.forms(word))).collect(), scope }
    }

    /// Adds the conditions of the question's text. With `prefer_quotes`, quoted phrases are not
    /// conditions.
    fn add_conditions(&mut self, query: &Query, prefer_quotes: bool) {
        let mut types = Vec::new();
        let mut sources = Vec::new();
        for (unit, words) in &query.units {
            let condition = match unit {
                Unit::Required(_, Reach::Anywhere) if prefer_quotes => continue,
                Unit::Required(_, scope) | Unit::Excluded(_, scope) => match words.as_slice() {
                    [] => continue,
                    // One character of a script without spaces: any pair that begins with it.
                    [only] if only.kind == Kind::Lone => {
                        PageCondition::Prefix(only.text.clone(), *scope)
                    }
                    _ => PageCondition::Phrase(self.phrase(words, *scope)),
                },
                Unit::ExcludedPrefix(_, scope) | Unit::Prefix(_, scope @ Reach::Title) => {
                    PageCondition::Prefix(key_of_words(simple_words(words)), *scope)
                }
                Unit::Filter { field: Filter::Tag, value, .. } => {
                    PageCondition::Keys(vec![hashed_key(key::TAG, value)])
                }
                Unit::Filter { field: Filter::Field, value, .. } => {
                    PageCondition::Keys(vec![hashed_key(key::FIELD, value)])
                }
                Unit::Filter { field: Filter::Type, value, excluded } => {
                    if !excluded {
                        types.push(hashed_key(key::TYPE, value));
                        continue;
                    }
                    PageCondition::Keys(vec![hashed_key(key::TYPE, value)])
                }
                Unit::Filter { field: Filter::Source, value, excluded } => {
                    if !excluded {
                        sources.push(hashed_key(key::SOURCE, value));
                        continue;
                    }
                    PageCondition::Keys(vec![hashed_key(key::SOURCE, value)])
                }
                Unit::Words(_) | Unit::Prefix(_, Reach::Anywhere) => continue,
            };
            let excluded = matches!(
                unit,
                Unit::Excluded(..) | Unit::ExcludedPrefix(..) | Unit::Filter { excluded: true, .. }
            );
            if excluded {
                self.plan.excluded.push(condition);
            } else {
                self.plan.required.push(condition);
            }
        }
        // A page has one type and one source: several values mean any of them.
        for keys in [types, sources] {
            if !keys.is_empty() {
                self.plan.required.push(PageCondition::Keys(keys));
            }
        }
    }
}

impl WordGroup {
    fn without_prefix(self) -> Self {
        Self { prefix: None, ..self }
    }
}
