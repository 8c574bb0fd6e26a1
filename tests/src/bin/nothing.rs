//! A program that does nothing: what starting a process costs at the least. For
//! `benches/performance`.

fn main() {}
