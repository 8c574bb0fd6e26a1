//! A network with one service in it, for tests of what speaks to a paid one: it keeps what was sent, sees that the key is nowhere but where it belongs, and
//! answers in two parts with a second of nothing between them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::{Answer, Call, Link, Outgoing, Part, Trouble};

/// What nobody may read in what is shown of a call.
pub const KEY: &str = "sk-very-secret-key";

/// A request, as it went out.
#[derive(Debug, Clone)]
pub struct Sent {
    /// How many went out before it.
    pub before: usize,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub authorization: Option<String>,
    pub body: Value,
}

type Answers = Box<dyn Fn(&Sent) -> Result<Answer, Trouble> + Send + Sync>;

struct Service {
    sent: Mutex<Vec<Sent>>,
    answers: Answers,
}

/// The network.
#[derive(Clone)]
pub struct Net(Arc<Service>);

impl Net {
    /// One whose service answers so. An answer with the header `then` ends as it says: `broken`, `silent`.
    pub fn new(answers: impl Fn(&Sent) -> Result<Answer, Trouble> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Service { sent: Mutex::default(), answers: Box::new(answers) }))
    }

    /// All that was sent, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.0.sent.lock().unwrap().clone()
    }
}

impl Outgoing for Net {
    fn link(&self, _: &Url) -> Result<Box<dyn Link>, Trouble> {
        Ok(Box::new(self.clone()))
    }
}

impl Link for Net {
    fn call(&self, _: &Call<'_>) -> Result<Answer, Trouble> {
        Err(Trouble::Refused)
    }

    fn follow(
        &self,
        call: &Call<'_>,
        _: Duration,
        part: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble> {
        let shown = format!("{call:?}");
        assert!(!shown.contains(KEY), "{shown}");
        let sent = {
            let mut all = self.0.sent.lock().unwrap();
            let sent = Sent {
                before: all.len(),
                url: call.url.to_string(),
                headers: call
                    .headers
                    .iter()
                    .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                    .collect(),
                authorization: call.authorization.map(|secret| secret.expose().to_owned()),
                body: serde_json::from_slice(call.body.unwrap()).unwrap(),
            };
            all.push(sent.clone());
            sent
        };
        let answer = (self.0.answers)(&sent)?;
        if answer.status != 200 {
            return Ok(answer);
        }
        let (one, two) = answer.body.split_at(answer.body.len() / 2);
        let heard =
            [Part::Head, Part::Bytes(one), Part::Nothing, Part::Bytes(two)].into_iter().all(part);
        match answer.header("then") {
            Some("broken") if heard => Err(Trouble::Broken("reset".into())),
            Some("silent") if heard => Err(Trouble::Slow(180)),
            _ => Ok(Answer { body: Vec::new(), ..answer }),
        }
    }
}
