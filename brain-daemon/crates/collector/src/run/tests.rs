//! Tests of runs against a fake platform.

mod failures;
mod fake_platform;
mod files;
mod model;
mod rules;
