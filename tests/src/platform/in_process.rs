//! The platform behind the daemon's own trait for what goes out: no socket, so nothing depends on the machine's speed.

use std::time::{Duration, Instant};

use brain_net::{Answer, Call, Link, Outgoing, Part, Trouble};
use url::Url;

use super::{Manner, Platform, Request, Response, Told};

/// What goes out, to a platform and nowhere else.
#[derive(Clone)]
pub struct InProcess(pub Platform);

impl InProcess {
    fn ask(&self, call: &Call<'_>) -> Result<Response, Trouble> {
        let answer = self.0.answer(&Request {
            method: if call.body.is_some() { "POST" } else { "GET" },
            path: call.url.path(),
            query: call.url.query().unwrap_or_default(),
            authorization: call.authorization.map(brain_protocol::Secret::expose),
            body: call.body.unwrap_or_default(),
        });
        match answer.manner {
            Manner::Usual => Ok(answer),
            Manner::Silence | Manner::Slow(_) => Err(Trouble::Slow(30)),
            Manner::Close | Manner::Cut(_) => Err(Trouble::Broken("unexpected end of file".into())),
        }
    }
}

fn whole(answer: Response) -> Answer {
    Answer { status: answer.status, headers: answer.headers, body: answer.body, from: None }
}

impl Link for InProcess {
    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
        let answer = self.ask(call)?;
        if answer.body.len() > 8 * 1024 * 1024 {
            return Err(Trouble::Large(8 * 1024 * 1024));
        }
        Ok(whole(answer))
    }

    fn follow(
        &self,
        call: &Call<'_>,
        silence: Duration,
        part: &mut dyn FnMut(Part<'_>) -> bool,
    ) -> Result<Answer, Trouble> {
        let mut answer = self.ask(call)?;
        let Some(subscription) = answer.stream.take() else { return Ok(whole(answer)) };
        let mut last = Instant::now();
        let mut goes_on = part(Part::Head);
        while goes_on {
            match subscription.next(Duration::from_millis(100)) {
                Told::Bytes(bytes) => {
                    last = Instant::now();
                    goes_on = part(Part::Bytes(&bytes));
                }
                Told::Nothing if last.elapsed() >= silence => {
                    return Err(Trouble::Slow(silence.as_secs()));
                }
                Told::Nothing => goes_on = part(Part::Nothing),
                Told::End => break,
                Told::Cut => return Err(Trouble::Broken("unexpected end of file".into())),
            }
        }
        Ok(whole(answer))
    }
}

impl Outgoing for InProcess {
    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
        Link::call(self, call)
    }

    fn link(&self, _base: &Url) -> Result<Box<dyn Link>, Trouble> {
        Ok(Box::new(self.clone()))
    }
}
