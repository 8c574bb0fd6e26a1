//! Tests of the positions of pages in a graph.

use super::*;

/// Returns the links of a graph like that of a brain: a few pages have many links, and most links
/// lead to near pages. The last `orphans` pages have no links.
fn brain_like_links(pages: u32, orphans: u32) -> Vec<(u32, u32)> {
    let mut sequence = RandomNumbers(7);
    // Returns a number below `end`.
    let mut below = |end: u32| ((sequence.next() + 1.0) / 2.0 * end as f32) as u32 % end.max(1);
    let mut edges = Vec::new();
    for page in 1..pages - orphans {
        for _ in 0..1 + below(4) {
            let to = match below(3) {
                0 => below(page) / (1 + below(40)),
                1 => page - 1 - below(page.min(30)),
                _ => (page / 200) * 200,
            };
            edges.push((page, to.min(page)));
        }
    }
    edges
}

/// Asserts that all positions are within a radius that grows with the number of pages.
fn assert_bounded(points: &[Point]) {
    let largest = 20.0 * (points.len() as f32 + 10.0).sqrt();
    for point in points {
        assert!(point.x.abs() < largest && point.y.abs() < largest, "{point:?} of {largest}");
    }
}

#[test]
fn the_same_graph_gets_the_same_positions() {
    let edges = brain_like_links(800, 50);
    let first = arrange(800, &edges);
    assert_eq!(first, arrange(800, &edges));
    assert_bounded(&first);
}

#[test]
fn small_graphs_and_self_links_have_positions() {
    assert_eq!(arrange(0, &[]), []);
    assert_bounded(&arrange(1, &[]));
    assert_eq!(arrange(1, &[(0, 0), (0, 0)]), arrange(1, &[]));
    for edges in [&[][..], &[(0, 1)], &[(0, 1), (1, 0), (1, 1)]] {
        let points = arrange(2, edges);
        assert_bounded(&points);
        assert_ne!(points[0], points[1]);
    }
    let triangle = arrange(3, &[(0, 1), (1, 2), (2, 0), (2, 2)]);
    assert_bounded(&triangle);
}

#[test]
fn islands_do_not_overlap() {
    // A star of 30, a ring of 10, 5 pairs, and 40 single pages.
    let star = (1..30).map(|leaf| (0, leaf));
    let ring = (0..10).map(|at| (30 + at, 30 + (at + 1) % 10));
    let pairs = (0..5).map(|at| (40 + 2 * at, 41 + 2 * at));
    let edges: Vec<(u32, u32)> = star.chain(ring).chain(pairs).collect();
    let points = arrange(90, &edges);
    assert_bounded(&points);
    let farthest = |pages: std::ops::Range<usize>| {
        points[pages].iter().map(|at| at.x.hypot(at.y)).fold(0.0, f32::max)
    };
    let star_radius = farthest(0..30);
    for point in &points[30..] {
        assert!(point.x.hypot(point.y) > star_radius, "{point:?} is inside the star");
    }
    let distance =
        |a: usize, b: usize| (points[a].x - points[b].x).hypot(points[a].y - points[b].y);
    for (a, b) in (50..90).flat_map(|a| (50..a).map(move |b| (a, b))) {
        assert!(distance(a, b) > 1.0, "{a} and {b} are at one place");
    }
}

#[test]
fn linked_pages_are_nearer_than_others() {
    let (pages, edges) = (2000, brain_like_links(2000, 0));
    let points = arrange(pages as usize, &edges);
    assert_bounded(&points);
    let distance = |a: u32, b: u32| {
        let (a, b) = (points[a as usize], points[b as usize]);
        f64::from((a.x - b.x).hypot(a.y - b.y))
    };
    let mean = |pairs: &mut dyn Iterator<Item = (u32, u32)>| {
        let (sum, count) =
            pairs.fold((0.0, 0), |(sum, count), (a, b)| (sum + distance(a, b), count + 1));
        sum / f64::from(count)
    };
    let linked = mean(&mut edges.iter().copied());
    let others = mean(&mut (0..pages).map(|page| (page, (page * 7 + 1009) % pages)));
    assert!(linked * 2.0 < others, "{linked} and {others}");
}

/// All pages link to one page. They are spread around it, not stacked at a few places.
#[test]
fn many_pages_around_one_page_are_spread() {
    let edges: Vec<(u32, u32)> = (1..5000).map(|leaf| (leaf, 0)).collect();
    let points = arrange(5000, &edges);
    assert_bounded(&points);
    let mut squares: Vec<(i32, i32)> =
        points.iter().map(|at| ((at.x / 4.0) as i32, (at.y / 4.0) as i32)).collect();
    squares.sort_unstable();
    squares.dedup();
    assert!(squares.len() > 300, "{}", squares.len());
}
