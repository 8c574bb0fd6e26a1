//! Stands in for local models in a program that is built without them.
//!
//! It has the same items as the module `local`. Every call that needs a model returns one error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{
    EmbedError, EmbedErrorKind, Embedder, ModelFacts, Reranker, VectorPurpose, VectorSpace,
};

/// The check of a tokenizer, which only local models need.
pub mod probe {
    use std::ffi::OsString;
    use std::process::ExitCode;

    /// Returns `None`: there is no check.
    pub fn run_if_requested(_args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
        None
    }
}

/// A model on this machine, which this program cannot run.
#[derive(Debug)]
pub struct LocalModel;

impl LocalModel {
    /// Returns a handle that refuses all work.
    #[must_use]
    pub fn new(_directory: PathBuf, _threads: usize) -> Self {
        Self
    }

    /// Returns `false`: no model can be in memory.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        false
    }
}

impl Embedder for LocalModel {
    fn space(&self) -> Result<VectorSpace, EmbedError> {
        Err(not_built())
    }

    fn embed(
        &self,
        _texts: &[String],
        _purpose: VectorPurpose,
        _should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(not_built())
    }

    fn unload_if_idle(&self, _idle: Duration) {}
}

impl Reranker for LocalModel {
    fn rerank(
        &self,
        _question: &str,
        _texts: &[String],
        _should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError> {
        Err(not_built())
    }

    fn unload_if_idle(&self, _idle: Duration) {}
}

/// Refuses: this program cannot run a model.
///
/// # Errors
/// [`EmbedErrorKind::Model`], always.
pub fn check_built() -> Result<(), EmbedError> {
    Err(not_built())
}

/// Refuses: this program cannot read a model.
///
/// # Errors
/// [`EmbedErrorKind::Model`], always.
pub fn inspect(_directory: &Path) -> Result<ModelFacts, EmbedError> {
    Err(not_built())
}

/// Refuses, as [`inspect`].
///
/// # Errors
/// As [`inspect`].
pub fn inspect_while(
    _directory: &Path,
    _should_continue: &dyn Fn() -> bool,
) -> Result<ModelFacts, EmbedError> {
    Err(not_built())
}

/// Returns `false`: this program cannot read a model.
#[must_use]
pub fn is_reranker(_directory: &Path) -> bool {
    false
}

fn not_built() -> EmbedError {
    EmbedError {
        kind: EmbedErrorKind::Model,
        message: "this program was built without local models".to_owned(),
        hint: Some(
            "use an endpoint (embedding.provider = \"openai\"), or a brain-daemon that is built \
             with the feature `local-models`"
                .into(),
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_use_of_a_local_model_names_the_feature() {
        let model = LocalModel::new(PathBuf::from("models/any"), 1);
        let texts = ["one".to_owned()];
        let errors = [
            check_built().unwrap_err(),
            inspect(Path::new("models/any")).unwrap_err(),
            inspect_while(Path::new("models/any"), &|| true).unwrap_err(),
            model.space().unwrap_err(),
            model.embed(&texts, VectorPurpose::Query, &|| true).unwrap_err(),
            model.rerank("why?", &texts, &|| true).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind, EmbedErrorKind::Model);
            assert!(error.hint.unwrap().to_string().contains("the feature `local-models`"));
        }
    }
}
