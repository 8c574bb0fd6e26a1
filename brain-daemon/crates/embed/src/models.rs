//! The files of local models: where they come from, how they are fetched, and what is recorded
//! about them.

pub mod fetch_files;
pub mod known_models;
pub mod model_record;
pub mod origin;
