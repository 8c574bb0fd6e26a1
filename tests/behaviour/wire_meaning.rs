//! One value of every request and reply about search by meaning, answers in prose, ideas and costs,
//! in wire order, and an event with text.

use brain_protocol::*;

fn time() -> String {
    "2026-11-21T10:30:45.123Z".into()
}

fn some_text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

fn spending() -> Spending {
    Spending { estimated: 70_000, actual: 300, tokens_in: 5000, tokens_out: 7, calls: 2 }
}

pub(crate) fn requests() -> Vec<Request> {
    vec![
        Request::Embed(Embed { all: true, dry_run: false }),
        Request::ModelInstall(ModelInstall {
            from: "all-minilm-l6-v2".into(),
            sha256: Some("ab".repeat(32)),
            name: some_text("mine"),
        }),
        Request::ModelList(ModelList),
        Request::Ask(Ask {
            question: "why?".into(),
            limit: 12,
            source: Some(SourceId::parse("work").unwrap()),
            model: some_text("m"),
            max_cost: Some(1_000_000),
            estimate: true,
        }),
        Request::Costs(Costs { since: some_text("2026-01-01"), until: None, limit: 300 }),
        Request::Ideas(Ideas {
            profile: IdeaProfile::Lsd,
            question: "why?".into(),
            limit: Some(5),
            save: Some(false),
            max_cost: Some(70_000),
            model: some_text("m"),
            judge_model: None,
            close: Some(3),
            far: None,
            resume: some_text("r"),
            estimate: true,
            prompts_only: true,
        }),
        Request::IdeaRuns(IdeaRuns),
    ]
}

fn hit() -> Hit {
    Hit {
        slug: slug("people/ada"),
        source_id: SourceId::default(),
        title: "Ada".into(),
        page_type: "person".into(),
        score: 1.5,
        snippet: "s".into(),
        highlights: vec![(0, 1)],
        chunk: 3,
        matched: vec!["meaning".into()],
        updated_at: time(),
        explain: vec![ScorePart { reason: "meaning: 0.71".into(), score: 0.5 }],
        line: 300,
        source_kind: None,
        source_uri: None,
        url: None,
        trust: TrustLevel::Mixed,
        path: None,
        also_in: Vec::new(),
        copy_of: None,
    }
}

fn ask_reply() -> AskReply {
    AskReply {
        question: "why?".into(),
        answer: some_text("because [1]"),
        partial: true,
        citations: vec![Citation {
            number: 1,
            slug: slug("people/ada"),
            source_id: SourceId::default(),
            title: "Ada".into(),
            line: 300,
        }],
        unknown: some_text("when"),
        passages: vec![hit()],
        hint: Some("h".into()),
        model: some_text("m"),
        cost: spending(),
        degraded: some_text("d"),
    }
}

fn ideas() -> IdeasReply {
    let scores = Scores {
        originality: 5.0,
        resistance: 4.5,
        thesis: 4.0,
        grounding: 3.5,
        load_bearing: 1.0,
    };
    let idea = Idea {
        id: 300,
        text: "t".into(),
        close_slug: slug("a"),
        far_slug: slug("b"),
        distance: 0.75,
        judge: Some(Judgement { scores, weighted: 4.25, note: "n".into() }),
        passes: true,
        close_source_id: SourceId::default(),
        far_source_id: SourceId::parse("work").unwrap(),
    };
    let prompt = IdeaPrompt {
        close_slug: slug("a"),
        far_slug: slug("b"),
        text: "p".into(),
        close_source_id: SourceId::parse("work").unwrap(),
        far_source_id: SourceId::default(),
        distance: 0.25,
    };
    IdeasReply {
        profile: IdeaProfile::Brainstorm,
        run_id: "r".into(),
        question: "why?".into(),
        status: "stopped".into(),
        ideas: vec![idea],
        prompts: vec![prompt],
        close_set: vec![ClosePage {
            slug: slug("a"),
            title: "A".into(),
            score: 1.5,
            source_id: SourceId::default(),
        }],
        far_set: vec![FarPage {
            slug: slug("b"),
            title: "B".into(),
            distance: 0.5,
            band: "far".into(),
            source_id: SourceId::default(),
        }],
        short_of_target: true,
        judge_failed: false,
        failed_crosses: 1,
        cost: spending(),
        saved_slug: Some(slug("ideas/x")),
        problem: some_text("p"),
        degraded: some_text("d"),
        crosses: 300,
        ideas_per_cross: 3,
        save_problem: some_text("s"),
        notes: vec!["n".into()],
    }
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let embedded = EmbedReply {
        provider: "local".into(),
        model: "m".into(),
        pages: 70_000,
        windows: 1 << 33,
        missing: 1,
        dry_run: true,
        seconds: Some(3),
    };
    let installed = ModelInstallReply {
        name: "m".into(),
        path: "/h/models/m".into(),
        bytes: 90_868_376,
        dimensions: 384,
        sha256: "ab".repeat(32),
        already: true,
        message: "m".into(),
    };
    let row = ModelRow {
        name: "m".into(),
        path: "/h/models/m".into(),
        bytes: 90_868_376,
        dimensions: Some(384),
        used: true,
        problem: some_text("p"),
    };
    let models = Models {
        provider: "local".into(),
        model: some_text("m"),
        pages: 1,
        windows: 300,
        missing: 2,
        problem: some_text("p"),
        installed: vec![row],
        known: vec![KnownModelRow {
            name: "m".into(),
            languages: "English".into(),
            bytes: 1,
            seconds: 2,
        }],
    };
    let costs = CostsReply {
        total: spending(),
        sums: vec![CostSum { purpose: "ask".into(), model: "m".into(), spent: spending() }],
        calls: vec![CostCall {
            at: time(),
            purpose: "embedding".into(),
            model: "m".into(),
            state: "done".into(),
            spent: spending(),
        }],
        damaged: 1,
        implausible: 2,
        days: vec![CostDay { date: "2026-11-21".into(), purpose: "ask".into(), actual: 300 }],
    };
    let run = IdeaRunRow {
        run_id: "r".into(),
        profile: IdeaProfile::Lsd,
        question: "why?".into(),
        started_at: time(),
        crosses_done: 3,
        crosses: 300,
        status: "stopped".into(),
        cost: spending(),
        saved_slug: None,
    };
    vec![
        ("embedded", Reply::Embed(embedded)),
        ("model_installed", Reply::ModelInstall(installed)),
        ("models", Reply::Models(models)),
        ("asked", Reply::Ask(ask_reply())),
        ("costs", Reply::Costs(costs)),
        ("ideas", Reply::Ideas(ideas())),
        (
            "idea_runs",
            Reply::IdeaRuns(IdeaRunsReply { runs: vec![run], damaged: vec!["d".into()] }),
        ),
    ]
}

/// Returns the event that carries a piece of prose.
pub(crate) fn text_event() -> (&'static str, Answer) {
    ("text", Answer::Event(Event::Text("a piece of prose".into())))
}
