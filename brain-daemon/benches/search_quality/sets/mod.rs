//! Generated sets: invented pages and questions with known answers, one file for each subject. They
//! are always the same, and need no data from elsewhere.

pub(crate) mod ask;
mod ask_vault;
mod commands;
mod dated_names;
mod dates;
mod day_phrases;
mod essays;
mod exclusions;
mod gaps;
mod joined;
mod lexicon;
mod mentions;
mod names;
mod negations;
mod newest;
mod numbers;
mod phrases;
mod properties;
mod properties_words;
mod prose;
mod quoted;
mod quotes;
mod relations;
mod tagged;
mod versions;

use crate::films;
use crate::set::Set;

/// Returns all generated sets.
pub(crate) fn sets() -> Vec<Set> {
    let mut sets = Vec::new();
    sets.extend(films::sets());
    sets.extend(phrases::sets());
    sets.extend(quotes::sets());
    sets.extend(names::sets());
    sets.extend(dates::sets());
    sets.extend(relations::sets());
    sets.extend(commands::sets());
    sets.extend(properties::sets());
    sets.extend(versions::sets());
    sets.extend(numbers::sets());
    sets.extend(exclusions::sets());
    sets.extend(negations::sets());
    sets.extend(mentions::sets());
    sets.extend(joined::sets());
    sets.extend(day_phrases::sets());
    sets.extend(newest::sets());
    sets.extend(tagged::sets());
    sets.extend(gaps::sets());
    sets.extend(quoted::sets());
    sets.extend(essays::sets());
    sets.extend(dated_names::sets());
    sets
}
