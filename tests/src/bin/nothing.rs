//! A program that does nothing, the baseline of process starts in `benches/performance`.

fn main() {}
