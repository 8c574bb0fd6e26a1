//! Forces between pages: links pull, in proportion to their length; all pages push each other away,
//! by the product of their masses over the distance (Jacomy et al., ForceAtlas2, 2014).
//!
//! The push of far pages is summed by squares of a grid, and squares of squares, with two terms of
//! a Taylor series (the fast multipole method). In a crowded square near a page, only a sample of
//! the pages pushes. So a round takes time in proportion to pages and links.

use super::{Point, RandomNumbers, WeightedGraph};

/// Maximum number of pages of one near square that push a page.
const MAX_SAMPLE: usize = 12;
/// The part of the way to its equilibrium that a page moves in a round.
const STEP: f32 = 0.5;
/// The finest grid has at most 4^`MAX_DEPTH` squares.
const MAX_DEPTH: u32 = 9;

/// A square of the grid.
#[derive(Clone, Copy, Default)]
struct Square {
    mass: f32,
    /// The centre of mass; while masses are summed up, the centre times the mass.
    x: f32,
    y: f32,
    /// The push of far pages at the middle of the square, as a complex number: the push is the
    /// conjugate of an analytic function.
    push: (f32, f32),
    /// The derivative of `push`, as a complex number.
    slope: (f32, f32),
}

/// The forces of one graph, with the memory that its rounds share.
pub(super) struct Forces<'a> {
    graph: &'a WeightedGraph,
    /// Maximum move of each page in a round: the square root of a mass, because pages spread over
    /// an area in proportion to their mass.
    reach: &'a [f32],
    /// The square of the distance below which a push grows no further.
    softening: f32,
    /// The sum of the weights of each page's links.
    weights: Vec<f32>,
    /// The finest grid has 2^`depth` squares per side.
    depth: u32,
    /// All grids, the coarsest first.
    squares: Vec<Square>,
    /// The square of each page in the finest grid.
    square_of: Vec<u32>,
    /// The index in `bodies` of the first page of each square.
    starts: Vec<u32>,
    /// Position (x, y) and mass of each page, sorted by square.
    bodies: Vec<(f32, f32, f32)>,
    /// The corner of the grids with the lowest coordinates.
    corner: Point,
    /// The length of a side of the grids.
    side: f32,
}

/// Returns the index of the first square of the grid with 2^`depth` squares per side.
fn first_square(depth: u32) -> usize {
    ((1_usize << (2 * depth)) - 1) / 3
}

impl<'a> Forces<'a> {
    pub(super) fn new(graph: &'a WeightedGraph, reach: &'a [f32]) -> Self {
        let mean = graph.masses.iter().sum::<f32>() / graph.len() as f32;
        let weight = |page| graph.links(page).iter().map(|(_, weight)| weight).sum::<f32>();
        let depth = (graph.len().max(16).ilog2() / 2).min(MAX_DEPTH);
        Self {
            graph,
            reach,
            softening: 0.01 * mean,
            weights: (0..graph.len()).map(weight).collect(),
            depth,
            squares: vec![Square::default(); first_square(depth + 1)],
            square_of: vec![0; graph.len()],
            starts: vec![0; (1 << (2 * depth)) + 1],
            bodies: vec![(0.0, 0.0, 0.0); graph.len()],
            corner: Point::default(),
            side: 0.0,
        }
    }

    /// Moves the points for some rounds, each with shorter moves.
    pub(super) fn run(&mut self, points: &mut [Point], rounds: u32, sequence: &mut RandomNumbers) {
        let mut moves = vec![Point::default(); points.len()];
        for round in 0..rounds {
            self.lay_grid(points, sequence);
            self.sum_masses();
            self.push_far();
            let remaining = 1.0 - round as f32 / rounds as f32;
            for (page, moved) in moves.iter_mut().enumerate() {
                let max_length = self.reach[page] * (0.05 + remaining);
                *moved = self.step(points, page, max_length, round as usize);
            }
            for (point, moved) in points.iter_mut().zip(&moves) {
                point.x += moved.x;
                point.y += moved.y;
            }
        }
    }

    /// Returns the move of a page in this round, not longer than `max_length`.
    fn step(&self, points: &[Point], page: usize, max_length: f32, round: usize) -> Point {
        let (at, mass) = (points[page], self.graph.masses[page]);
        let (near_x, near_y) = self.push_near(at, page, round);
        let square = self.squares[first_square(self.depth) + self.square_of[page] as usize];
        let middle = self.middle(self.depth, self.square_of[page]);
        let (dx, dy) = (at.x - middle.x, at.y - middle.y);
        let far_x = square.push.0 + square.slope.0 * dx - square.slope.1 * dy;
        let far_y = -(square.push.1 + square.slope.0 * dy + square.slope.1 * dx);
        let mut force = Point { x: mass * (near_x + far_x), y: mass * (near_y + far_y) };
        for &(other, weight) in self.graph.links(page) {
            let other = points[other as usize];
            force.x += weight * (other.x - at.x);
            force.y += weight * (other.y - at.y);
        }
        let scale = STEP / self.weights[page].max(f32::MIN_POSITIVE);
        let length = force.x.hypot(force.y) * scale;
        let scale = if length > max_length { scale * max_length / length } else { scale };
        let moved = Point { x: force.x * scale, y: force.y * scale };
        if moved.x.is_finite() && moved.y.is_finite() { moved } else { Point::default() }
    }

    /// Lays the grids over the points, at another place in each round, so that the result shows no
    /// grid lines. Sorts the pages by square of the finest grid.
    fn lay_grid(&mut self, points: &[Point], sequence: &mut RandomNumbers) {
        let (mut low, mut high) = (points[0], points[0]);
        for point in points {
            low = Point { x: low.x.min(point.x), y: low.y.min(point.y) };
            high = Point { x: high.x.max(point.x), y: high.y.max(point.y) };
        }
        let extent = (high.x - low.x).max(high.y - low.y).max(self.softening.sqrt());
        // The grids are so large that they contain all points after the largest shift.
        let shift = sequence.next_point(0.125 * extent);
        self.side = 1.26 * extent;
        self.corner = Point {
            x: (low.x + high.x - self.side) / 2.0 + shift.x,
            y: (low.y + high.y - self.side) / 2.0 + shift.y,
        };
        let across = 1_u32 << self.depth;
        let scale = across as f32 / self.side;
        self.starts.fill(0);
        for (point, square) in points.iter().zip(&mut self.square_of) {
            let x = (((point.x - self.corner.x) * scale) as u32).min(across - 1);
            let y = (((point.y - self.corner.y) * scale) as u32).min(across - 1);
            *square = y * across + x;
            self.starts[*square as usize + 1] += 1;
        }
        for square in 1..self.starts.len() {
            self.starts[square] += self.starts[square - 1];
        }
        // Counts the end of each square down until it is the index of the first page.
        for (page, &square) in self.square_of.iter().enumerate().rev() {
            let end = &mut self.starts[square as usize + 1];
            *end -= 1;
            self.bodies[*end as usize] = (points[page].x, points[page].y, self.graph.masses[page]);
        }
        self.starts.rotate_left(1);
        if let Some(end) = self.starts.last_mut() {
            *end = points.len() as u32;
        }
    }

    /// Computes mass and centre of mass of all squares, from the finest grid to the coarsest.
    fn sum_masses(&mut self) {
        self.squares.fill(Square::default());
        let finest = first_square(self.depth);
        for (index, pair) in self.starts.windows(2).enumerate() {
            let square = &mut self.squares[finest + index];
            for &(x, y, mass) in &self.bodies[pair[0] as usize..pair[1] as usize] {
                square.mass += mass;
                square.x += mass * x;
                square.y += mass * y;
            }
        }
        for depth in (1..=self.depth).rev() {
            let (first, above) = (first_square(depth), first_square(depth - 1));
            for index in 0..1_usize << (2 * depth) {
                let (x, y) = (index & ((1 << depth) - 1), index >> depth);
                let square = self.squares[first + index];
                let parent = &mut self.squares[above + ((y / 2) << (depth - 1)) + x / 2];
                parent.mass += square.mass;
                parent.x += square.x;
                parent.y += square.y;
            }
        }
        for square in self.squares.iter_mut().filter(|square| square.mass > 0.0) {
            square.x /= square.mass;
            square.y /= square.mass;
        }
    }

    /// Computes the far push of each square: the push of its parent, plus the pushes of the squares
    /// that were too near for the parent.
    fn push_far(&mut self) {
        for depth in 2..=self.depth {
            let (first, above) = (first_square(depth), first_square(depth - 1));
            for index in 0..1_u32 << (2 * depth) {
                if self.squares[first + index as usize].mass == 0.0 {
                    continue;
                }
                let (x, y) = (index & ((1 << depth) - 1), index >> depth);
                let parent = ((y / 2) << (depth - 1)) + x / 2;
                let (from, to) = (self.middle(depth - 1, parent), self.middle(depth, index));
                let parent = self.squares[above + parent as usize];
                let (dx, dy) = (to.x - from.x, to.y - from.y);
                let mut push = (
                    parent.push.0 + parent.slope.0 * dx - parent.slope.1 * dy,
                    parent.push.1 + parent.slope.0 * dy + parent.slope.1 * dx,
                );
                let mut slope = parent.slope;
                for other in far_squares(depth, x, y) {
                    let other = self.squares[first + other as usize];
                    if other.mass == 0.0 {
                        continue;
                    }
                    let (dx, dy) = (to.x - other.x, to.y - other.y);
                    // mass / z, and its derivative -mass / z².
                    let inverse = 1.0 / (dx * dx + dy * dy);
                    let (re, im) = (dx * inverse, -dy * inverse);
                    push.0 += other.mass * re;
                    push.1 += other.mass * im;
                    slope.0 -= other.mass * (re * re - im * im);
                    slope.1 -= other.mass * 2.0 * re * im;
                }
                let square = &mut self.squares[first + index as usize];
                (square.push, square.slope) = (push, slope);
            }
        }
    }

    /// Returns the push of the pages in a page's square and the squares around it, for a mass of 1.
    fn push_near(&self, at: Point, page: usize, round: usize) -> (f32, f32) {
        let across = 1_u32 << self.depth;
        let (x, y) = (self.square_of[page] % across, self.square_of[page] / across);
        let mut push = (0.0, 0.0);
        for row in y.saturating_sub(1)..=(y + 1).min(across - 1) {
            for column in x.saturating_sub(1)..=(x + 1).min(across - 1) {
                let square = (row * across + column) as usize;
                let (first, end) = (self.starts[square] as usize, self.starts[square + 1] as usize);
                let interval = (end - first).div_ceil(MAX_SAMPLE).max(1);
                let mut sum = (0.0, 0.0);
                let sample = self.bodies[first..end].iter().skip((page + round) % interval);
                for &(x, y, mass) in sample.step_by(interval) {
                    let (dx, dy) = (at.x - x, at.y - y);
                    let share = mass / (dx * dx + dy * dy + self.softening);
                    sum.0 += share * dx;
                    sum.1 += share * dy;
                }
                push.0 += sum.0 * interval as f32;
                push.1 += sum.1 * interval as f32;
            }
        }
        push
    }

    /// Returns the middle of a square in the grid of this depth.
    fn middle(&self, depth: u32, square: u32) -> Point {
        let side = self.side / (1_u32 << depth) as f32;
        let (x, y) = (square & ((1 << depth) - 1), square >> depth);
        Point {
            x: self.corner.x + (x as f32 + 0.5) * side,
            y: self.corner.y + (y as f32 + 0.5) * side,
        }
    }
}

/// Returns the squares that are not adjacent to a square although their parents are adjacent to its
/// parent.
fn far_squares(depth: u32, x: u32, y: u32) -> impl Iterator<Item = u32> {
    let last = (1_u32 << depth) - 1;
    let around = move |at: u32| (at & !1).saturating_sub(2)..=((at | 1) + 2).min(last);
    around(y).flat_map(move |row| {
        let is_far = move |&column: &u32| row.abs_diff(y) > 1 || column.abs_diff(x) > 1;
        around(x).filter(is_far).map(move |column| (row << depth) + column)
    })
}
