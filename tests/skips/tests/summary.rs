//! The end of `cargo test`: which tests were skipped, why, and how to run them.

#[allow(clippy::print_stdout)]
fn main() {
    // A runner that lists tests first gets an empty list.
    if !std::env::args().any(|argument| argument == "--list") {
        println!("\n{}", test_skips::take_summary());
    }
}
