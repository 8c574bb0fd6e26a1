//! The commands of the client that hints and messages name.
//!
//! The parts of the daemon name commands by these types. So only this table has their words, and
//! only this file quotes arguments for a shell.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares the commands. A word in capitals stands for an argument: the fields replace these words
/// in their order. A field that is `None`, and a word without a field, is shown as in the table.
macro_rules! commands {
    ($($name:ident $({ $($field:ident),+ })? = $line:literal;)+) => {
        /// A command of the client, as text for a POSIX shell.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Command {
            $(#[doc = concat!("`brain ", $line, "`")] $name $({ $($field: Option<String>),+ })?,)+
        }

        impl Command {
            /// Returns every command, each field with the argument that `argument` returns for its
            /// name.
            pub fn all(argument: impl Fn(&str) -> Option<String>) -> Vec<Self> {
                vec![$(Self::$name $({ $($field: argument(stringify!($field))),+ })?,)+]
            }

            /// Returns the words of the table, and the values of the fields.
            fn line_and_fields(&self) -> (&'static str, Vec<&Option<String>>) {
                match self {
                    $(Self::$name $({ $($field),+ })? => ($line, vec![$($($field),+)?]),)+
                }
            }
        }
    };
}

commands! {
    Ask { question } = "ask QUESTION";
    AskSave { question } = "ask QUESTION --save";
    Attach { page } = "attach SLUG FILE";
    AttachAs { page } = "attach SLUG FILE --name NAME";
    Attachments { page } = "attachments SLUG";
    AttachmentsGet { page } = "attachments SLUG --get NAME";
    AttachmentsRemove { page, name } = "attachments SLUG --remove NAME";
    BackupCreate { file } = "backup create FILE";
    BackupRestore { file } = "backup restore FILE";
    BackupRestoreFromHome = "backup restore --from-home";
    BackupVerify = "backup verify FILE";
    Capture { file } = "capture --file FILE";
    ClientsList = "clients list";
    ClientsListAll = "clients list --all";
    ClientsRegister = "clients register NAME";
    ClientsRevoke { client } = "clients revoke ID --yes";
    ClientsUpdate { client, scope } = "clients update NAME --scope SCOPES";
    CollectorCollect = "collector collect";
    CollectorDigest = "collector digest";
    CollectorDigestJson = "collector digest --json";
    CollectorEnrich = "collector enrich";
    CollectorSetup = "collector setup";
    CollectorSetupHandle { handle } = "collector setup --handle NAME";
    CollectorSetupToken = "collector setup --token-file FILE";
    CollectorStatus = "collector status";
    ConfigCheck = "config check";
    ConfigCheckFile = "config check FILE";
    ConfigPath = "config path";
    ConfigSet { key, value } = "config set KEY VALUE";
    ConfigShow = "config show";
    Contradictions = "contradictions";
    Costs = "costs";
    Delete { page } = "delete SLUG";
    Demo = "demo";
    DiffCopy = "diff COPY";
    DiffFile { page } = "diff SLUG --file";
    Doctor = "doctor";
    DoctorFix = "doctor --fix";
    Edit { page } = "edit SLUG";
    EmbedStale = "embed --stale";
    Export = "export DIR";
    ExportSource { directory, source } = "export DIR --source NAME";
    Get { page } = "get SLUG";
    GetVersion { page, version } = "get SLUG --version N";
    History { page } = "history SLUG";
    Ideas { profile } = "PROFILE QUESTION";
    IdeasResume { profile, run } = "PROFILE --resume RUN";
    IdeasResumeWithin { profile, run, max_cost } = "PROFILE --resume RUN --max-cost USD";
    IdeasRuns { profile } = "PROFILE --list-runs";
    IdeasSave { profile, run } = "PROFILE --resume RUN --save";
    Import = "import PATH";
    ImportPath { path } = "import PATH";
    ImportReport { id } = "import --report ID";
    ImportReports = "import --report";
    ImportUndo { id } = "undo --import ID";
    JobsList = "jobs list";
    JobsListFailed = "jobs list --state failed";
    JobsListQueued = "jobs list --state queued";
    JobsRetry = "jobs retry";
    KeepFile { page } = "keep SLUG file";
    KeepPage { page } = "keep SLUG page";
    List = "list";
    MachinesInit = "machines init";
    MachinesJoin = "machines join";
    MachinesJoinAs = "machines join --name OTHER";
    MachinesJoinKey = "machines join --key-file FILE";
    MachinesJoinUrl = "machines join --url-file FILE";
    MachinesLeave = "machines leave";
    MachinesList = "machines list";
    MachinesRemove { name } = "machines remove NAME";
    MachinesRotateKey = "machines rotate-key";
    MachinesStatus = "machines status";
    Merge = "merge FROM INTO";
    ModelInstall { model } = "model install MODEL";
    ModelList = "model list";
    Put { page } = "put SLUG";
    PutFile { page, file } = "put SLUG --file FILE";
    Recall = "recall";
    Redo = "redo";
    Restart = "restart";
    Restore { page } = "restore SLUG";
    Search { words } = "search WORDS";
    ServiceUninstall = "service uninstall";
    SourcesAdd { source, path } = "sources add NAME --path DIR";
    SourcesDefault = "sources default NAME";
    SourcesList = "sources list";
    SourcesRemove { source } = "sources remove NAME --yes";
    Status = "status";
    Stop = "stop";
    StopAndRemove { path } = "stop && rm -r DIR";
    Sync = "sync";
    SyncAll = "sync --all";
    SyncDeletions { source } = "sync --source NAME --yes";
    SyncNoPull = "sync --no-pull";
    SyncSource { source } = "sync --source NAME";
    Tags = "tags";
    TagsAdd { page, tag } = "tags SLUG --add TAG";
    TokenAdmin = "token admin";
    TokenCreate { name, scope } = "token create NAME --scope SCOPES";
    TokenList = "token list";
    TokenListAll = "token list --all";
    TokenRevoke { token } = "token revoke NAME";
    TunnelStart = "tunnel start";
    TunnelStatus = "tunnel status";
    TunnelStop = "tunnel stop";
    Undo = "undo";
    UndoPage { page } = "undo SLUG";
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, fields) = self.line_and_fields();
        let mut fields = fields.into_iter();
        let (mut words, mut operands) = (vec!["brain".to_owned()], Vec::new());
        for word in line.split(' ') {
            let is_argument = word.bytes().all(|byte| byte.is_ascii_uppercase());
            let value = if is_argument { fields.next().and_then(Option::as_deref) } else { None };
            let shown = value.map_or_else(|| word.to_owned(), shell_word);
            let has_dash = value.is_some_and(|value| value.starts_with('-'));
            let option = words.last_mut().filter(|former| former.starts_with("--"));
            match option {
                Some(option) if has_dash => option.push_str(&format!("={shown}")),
                None if has_dash || (!operands.is_empty() && !word.starts_with("--")) => {
                    operands.push(shown);
                }
                _ => words.push(shown),
            }
        }
        if !operands.is_empty() {
            words.push("--".to_owned());
        }
        f.write_str(&[words, operands].concat().join(" "))
    }
}

/// Returns a word for a POSIX shell, in quotes if it needs them.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
