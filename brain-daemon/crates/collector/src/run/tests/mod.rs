mod files;
mod model;
mod rules;
mod trouble;
mod world;
