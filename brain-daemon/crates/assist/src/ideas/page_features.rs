//! Distances without vectors: the weighted share of a close page's features that another page
//! lacks. No I/O.
//!
//! Features are the words of title and slug, the type, the tags, and the pages that the page links
//! to. Each page counts as linked to itself, so a direct link is a common feature. Rare features
//! weigh more.

use std::collections::{HashMap, HashSet};

use brain_protocol::Slug;
use brain_search::each_word;
use brain_store::{DerivedRows, PageRecord};

/// The features of a page. The first character of a feature tells its kind.
pub(super) type PageFeatures = HashSet<String>;

/// Returns the features of a page.
pub(super) fn features(slug: &Slug, record: &PageRecord, derived: &DerivedRows) -> PageFeatures {
    let mut features = PageFeatures::new();
    for text in [slug.as_str(), &record.title] {
        each_word(text, &mut |word| {
            features.insert(format!(" {word}"));
        });
    }
    features.insert(format!(":{}", record.page_type));
    features.extend(record.tags.iter().map(|tag| format!("#{tag}")));
    features.insert(format!("/{slug}"));
    features.extend(derived.names.iter().map(|name| format!("[{name}")));
    for link in &derived.links {
        features.extend(link.slugs.iter().map(|slug| format!("/{slug}")));
        features.extend(link.name.as_ref().map(|name| format!("[{name}")));
    }
    features
}

/// Returns for each of `pages` its distances to the `close` pages, 0 to 1. Pages without common
/// features have the distance 1.
pub(super) fn distances(close: &[PageFeatures], pages: &[PageFeatures]) -> Vec<Vec<f32>> {
    let page_count = (close.len() + pages.len()) as f32;
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for feature in close.iter().flatten() {
        counts.insert(feature, 0.0);
    }
    for feature in close.iter().chain(pages).flatten() {
        if let Some(count) = counts.get_mut(feature.as_str()) {
            *count += 1.0;
        }
    }
    // A feature that every page has gets the weight 0.
    let weight = |feature: &String| {
        counts.get(feature.as_str()).map_or(0.0, |count| (page_count / count).ln())
    };
    let sums: Vec<f32> = close.iter().map(|features| sum(features.iter().map(weight))).collect();
    let distance = |page: &PageFeatures, close: &PageFeatures, close_sum: f32| match close_sum > 0.0
    {
        true => 1.0 - (sum(close.intersection(page).map(weight)) / close_sum).min(1.0),
        false => 1.0,
    };
    let distances_of =
        |page| close.iter().zip(&sums).map(|(close, sum)| distance(page, close, *sum)).collect();
    pages.iter().map(distances_of).collect()
}

/// Adds weights in a fixed order, because a sum of floats depends on the order and a set has none.
fn sum(weights: impl Iterator<Item = f32>) -> f32 {
    let mut weights: Vec<f32> = weights.collect();
    weights.sort_by(f32::total_cmp);
    weights.into_iter().sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::slice;

    use super::*;
    use brain_store::LinkRecord;

    fn page(slug: &str, title: &str, tags: &[&str], links: &[&str]) -> PageFeatures {
        let record = PageRecord {
            page_type: "note".into(),
            title: title.into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..PageRecord::default()
        };
        let link = |slug: &&str| LinkRecord {
            source: None,
            slugs: vec![(*slug).to_owned()],
            name: None,
            kind: "mentions".into(),
            raw: (*slug).to_owned(),
        };
        let derived =
            DerivedRows { links: links.iter().map(link).collect(), ..DerivedRows::default() };
        features(&Slug::parse(slug).unwrap(), &record, &derived)
    }

    #[test]
    fn pages_with_common_features_are_nearer() {
        let close = page("speed/cache", "Cache", &["latency"], &["people/ann"]);
        let pages = [
            page("plans/x", "Plan", &[], &["speed/cache"]),
            page("people/ann", "Ann", &[], &[]),
            page("garden/beds", "Beds", &["latency"], &[]),
            page("garden/trees", "Trees", &[], &["people/ann"]),
            page("kitchen/cache", "The tins", &[], &[]),
            page("kitchen/pots", "Pots", &[], &["garden/beds"]),
        ];
        let found: Vec<f32> =
            distances(slice::from_ref(&close), &pages).into_iter().map(|to| to[0]).collect();
        let (related, unrelated) = found.split_at(5);
        assert!(related.iter().all(|distance| (0.01..0.99).contains(distance)), "{found:?}");
        assert_eq!(unrelated, [1.0], "a common type does not count");
        assert_eq!(
            distances(slice::from_ref(&close), &[close.clone(), pages[5].clone()])[0],
            [0.0]
        );
        assert_eq!(
            distances(slice::from_ref(&close), slice::from_ref(&close)),
            [[1.0]],
            "every page has every feature, so all weights are 0"
        );
    }

    #[test]
    fn rare_features_count_more() {
        let close = page("speed/cache", "Cache", &["common", "rare"], &[]);
        let mut pages = vec![page("a/one", "One", &["rare"], &[])];
        pages.extend((0..9).map(|n| page(&format!("b/{n}"), "Other", &["common"], &[])));
        let found = distances(slice::from_ref(&close), &pages);
        assert!(found[0][0] < found[1][0], "{found:?}");
    }
}
