//! Runs the program that converts a file, and reads its lines.
//!
//! [`Converters`] knows which program reads a file: `brain-convert`, or one of the owner's.
//! [`convert`] runs it as a process of its own, within limits of time and of the length of lines.
//! This crate does not know what becomes of the lines.

mod programs;
mod run;

pub use programs::{Converters, split_extension};
pub use run::{Converter, Ending, convert, invalid};
