//! A link without a network: what a test says is answered.

use std::sync::Mutex;
use std::time::Duration;

use brain_net::{Answer, Call, Link, Part, Trouble};

/// What came over a link.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Path and query.
    pub(super) target: String,
    /// The value of `Authorization`.
    pub(super) authorization: String,
    /// The body, if there was one.
    pub(super) body: Option<Vec<u8>>,
}

type Answers = dyn Fn(&Asked) -> Result<Answer, Trouble> + Send + Sync;

/// A link that answers by a function, and keeps what was asked.
pub(super) struct Fake {
    answers: Box<Answers>,
    asked: Mutex<Vec<Asked>>,
}

impl Fake {
    pub(super) fn new(
        answers: impl Fn(&Asked) -> Result<Answer, Trouble> + Send + Sync + 'static,
    ) -> Self {
        Self { answers: Box::new(answers), asked: Mutex::default() }
    }

    /// What was asked until now.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Link for Fake {
    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
        let query = call.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let asked = Asked {
            target: format!("{}{query}", call.url.path()),
            authorization: call.authorization.unwrap().expose().to_owned(),
            body: call.body.map(<[u8]>::to_vec),
        };
        self.asked.lock().unwrap().push(asked.clone());
        (self.answers)(&asked)
    }

    fn follow(
        &self,
        _: &Call<'_>,
        _: Duration,
        _: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble> {
        unreachable!("runs do not follow")
    }
}

/// An answer with this status, head and body.
pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Answer {
    let headers =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Answer { status, headers, body: body.into(), from: None }
}
