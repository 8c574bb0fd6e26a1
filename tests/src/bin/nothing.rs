//! A program that does nothing, the baseline of whole processes in `benches/performance`.

fn main() {}
