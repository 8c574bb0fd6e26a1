//! Taking an item in once more: what becomes a page then is what its sender sent, from whoever sent
//! it.

use brain_core::ingest::{Accepted, Item};
use brain_page::MediaType;
use brain_protocol::{
    Fault, FaultCode, JobId, JobState, PageRef, Reply, Request, Slug, TunnelReplay,
    TunnelReplayReply,
};

use crate::ingest_lab::{Lab, text};

const SENT: &str = "---\nmood: odd\nprotected: true\ntitle: A title\n---\n\npoison";

fn replay(lab: &Lab, of: &Accepted) -> Result<TunnelReplayReply, Fault> {
    match lab.ask(Request::TunnelReplay(TunnelReplay { job_id: of.job_id }))? {
        Reply::TunnelReplay(replayed) => Ok(replayed),
        other => panic!("{other:?}"),
    }
}

fn forget(lab: &Lab, slug: &str) {
    lab.ask(Request::Delete(PageRef { source: None, slug: Slug::parse(slug).unwrap() }.into()))
        .unwrap();
}

#[test]
fn what_failed_is_taken_in_as_it_was_sent() {
    let lab = Lab::new();
    let item = || Item { media_type: MediaType::Markdown, ..text(SENT) };
    let in_the_way = lab.take_every_slug_of("poison");
    let sent = lab.send(item()).unwrap();
    while lab.show(&sent).status != JobState::Failed {
        lab.process_queue();
        lab.clock.turn(2000);
    }
    forget(&lab, &in_the_way[0]);
    lab.clock.turn(4 * 24 * 60 * 60 * 1000);
    lab.brain().pages.purge_due().unwrap();
    let again = replay(&lab, &sent).unwrap();
    assert_eq!(again.status, "queued");
    lab.process_queue();
    let anew = Accepted { job_id: again.new_job_id, ..sent.clone() };
    let (first, job) = (lab.show(&sent), lab.show(&anew));
    assert_eq!(
        (job.status, &job.client, &job.content_type, job.bytes, &job.source_id),
        (JobState::Stored, &first.client, &first.content_type, first.bytes, &first.source_id)
    );
    let page = lab.page(job.slug.as_deref().unwrap());
    assert_eq!((page.body.as_str(), page.title.as_str()), ("poison", "A title"));
    // The same as one that is sent now: what acts nowhere is not wrapped twice.
    forget(&lab, job.slug.as_deref().unwrap());
    let direct = lab.send(item()).unwrap();
    lab.process_queue();
    let direct = lab.page(lab.show(&direct).slug.as_deref().unwrap());
    let lines = |page: &str| -> Vec<String> {
        page.lines().filter(|line| !line.contains(":job_")).map(str::to_owned).collect()
    };
    assert_eq!(lines(&page.frontmatter), lines(&direct.frontmatter));
    assert_eq!(page.frontmatter.matches("received").count(), 1, "{}", page.frontmatter);
}

#[test]
fn what_has_no_place_any_more_is_refused_with_the_way_out() {
    let lab = Lab::new();
    let sent = lab.send(text("a thought")).unwrap();
    let unknown = Accepted { job_id: JobId(999), ..sent };
    let fault = replay(&lab, &unknown).unwrap_err();
    assert_eq!((fault.code, fault.hint.is_some()), (FaultCode::UnknownJob, true));
}
