//! Tests of services that need a whole brain.

mod embedding;
