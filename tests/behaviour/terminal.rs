//! Output to a terminal, a pipe, and a full device.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use brain_tests::{HTTP_ON_FREE_PORT, TestHome, has_program, program, run};
use rustix::fs::OFlags;

/// Runs `brain` on a terminal with `columns` columns; returns the exit code and the output. Returns
/// `None` if python3 is not installed.
pub(crate) fn on_a_terminal(
    home: &TestHome,
    columns: u32,
    env: &[(&str, &str)],
    args: &[&str],
) -> Option<(i32, String)> {
    on_a_terminal_with_input(home, columns, "", env, args)
}

/// Like `on_a_terminal`; writes `typed` to the terminal as soon as `brain` is started.
pub(crate) fn on_a_terminal_with_input(
    home: &TestHome,
    columns: u32,
    typed: &str,
    env: &[(&str, &str)],
    args: &[&str],
) -> Option<(i32, String)> {
    on_a_terminal_with_input_after(home, columns, ("", typed), env, args)
}

/// Like `on_a_terminal`; writes `typed` to the terminal as soon as `prompt` is on the screen.
pub(crate) fn on_a_terminal_with_input_after(
    home: &TestHome,
    columns: u32,
    (prompt, typed): (&str, &str),
    env: &[(&str, &str)],
    args: &[&str],
) -> Option<(i32, String)> {
    const PROGRAM: &str = r"
import fcntl, os, pty, struct, sys, termios
columns = int(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execv(sys.argv[4], sys.argv[4:])
prompt, typed = sys.argv[3].encode(), sys.argv[2].encode()
out = b''
while True:
    if typed and prompt in out:
        os.write(fd, typed)
        typed = b''
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    out += piece
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(status))
";
    let mut command = Command::new("python3");
    command
        .arg("-c")
        .arg(PROGRAM)
        .arg(columns.to_string())
        .arg(typed)
        .arg(prompt)
        .arg(program("brain"))
        .args(args);
    command
        .env("BRAIN_HOME", home.path())
        .envs(HTTP_ON_FREE_PORT)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .env("TZ", "UTC");
    command.envs(env.iter().copied());
    if !has_program("python3") {
        return None;
    }
    let result = run(command, b"");
    assert!(!result.stderr.contains("Traceback"), "{result:?}");
    Some((result.code, result.stdout.replace("\r\n", "\n")))
}

/// Removes escape sequences from `text`: all characters from ESC to the next ASCII letter.
fn strip_colours(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the number of columns that a line takes: two for East Asian characters and emoji.
fn display_width(line: &str) -> usize {
    let wide = |c: char| {
        matches!(c as u32,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 | 0x1f300..=0x1faff | 0x20000..=0x3fffd)
    };
    line.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

fn home_with_pages() -> (TestHome, brain_tests::Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    let text = "A walrus sat upon the ice and thought about the long winter nights of the north. "
        .repeat(6);
    home.put(
        "a/first",
        &format!(
            "---\ntitle: A rather long title that does not fit into forty \
        columns at all\ntags: [work, animals]\n---\n{text}[[a/second]] \
        [[nowhere/at/all/with/a/long/name]]\n\n- 2024-01-02 | {text}\n"
        ),
    );
    let title = "東京タワーへ行った日のとても長い記録とラーメンの感想文について書きました";
    home.put("a/second", &format!("---\ntitle: {title}\n---\nwalrus 日本語の文章\n"));
    home.put("a/second", &format!("---\ntitle: {title}\n---\nwalrus 日本語の文章 二\n"));
    (home, daemon)
}

#[test]
fn tables_and_text_fit_a_narrow_terminal() {
    let (home, _daemon) = home_with_pages();
    let commands = [
        &[][..],
        &["status"],
        &["list"],
        &["search", "walrus"],
        &["search", "walrus", "--explain"],
        &["history", "a/second"],
        &["tags"],
        &["links", "a/first"],
        &["backlinks", "a/second"],
        &["graph", "a/first"],
        &["timeline"],
    ];
    for (columns, args) in [40, 60].iter().flat_map(|&c| commands.map(|args| (c, args))) {
        let Some((code, screen)) = on_a_terminal(&home, columns, &[], args) else { return };
        assert_eq!(code, 0, "{args:?}: {screen}");
        let screen = strip_colours(&screen);
        assert!(!screen.trim().is_empty(), "{args:?}");
        for line in screen.lines() {
            // Paths stay whole, so that they can be copied.
            let has_long_path = line.split(' ').any(|w| w.starts_with('/') && w.len() > 30);
            assert!(
                has_long_path || display_width(line) <= columns as usize,
                "{args:?} has a line of {} columns, of {columns}: {line:?}",
                display_width(line)
            );
        }
    }
    // A brain without pages shows the first commands.
    let empty = TestHome::new();
    let _empty_daemon = empty.daemon();
    let (_, screen) = on_a_terminal(&empty, 40, &[], &[]).unwrap();
    assert!(screen.contains("brain capture"), "{screen}");
    for line in strip_colours(&screen).lines() {
        assert!(display_width(line) <= 40, "{line:?}");
    }
    let (_, wide) = on_a_terminal(&home, 200, &[], &["list"]).unwrap();
    assert!(
        strip_colours(&wide).contains("does not fit into forty columns at all"),
        "a wide terminal shows the whole text: {wide}"
    );
}

#[test]
fn colour_is_for_terminals_and_no_color_is_honoured() {
    let (home, _daemon) = home_with_pages();
    let Some((_, coloured)) = on_a_terminal(&home, 80, &[], &["search", "walrus"]) else { return };
    assert!(coloured.contains('\u{1b}'), "{coloured:?}");
    let (_, plain) = on_a_terminal(&home, 80, &[("NO_COLOR", "1")], &["search", "walrus"]).unwrap();
    let (_, json) = on_a_terminal(&home, 80, &[], &["search", "walrus", "--json"]).unwrap();
    let piped = home.brain(["search", "walrus"]).expect(0).stdout;
    for text in [plain, json, piped] {
        assert!(text.contains("a/first") && !text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn control_sequences_in_pages_do_not_reach_the_terminal() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put(
        "evil",
        "---\ntitle: \"quiet \\e]0;owned\\a walrus\"\n---\nwalrus \
        \u{1b}[2J\u{1b}]0;owned\u{7} \u{9b}31m ice\n",
    );
    for args in [&["list"][..], &["search", "walrus"], &["history", "evil"]] {
        let Some((code, screen)) = on_a_terminal(&home, 200, &[("NO_COLOR", "1")], args) else {
            return;
        };
        assert!(code == 0 && screen.contains("quiet"), "{args:?}: {screen:?}");
        assert!(!screen.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{args:?}: {screen:?}");
    }
    // The store has the sequences: a pipe gets them.
    assert!(home.brain(["get", "evil"]).expect(0).stdout.contains("\u{1b}[2J"));
}

#[test]
fn control_characters_are_escaped_in_json_and_text() {
    let (home, _daemon) = home_with_pages();
    let evil = "x\u{1b}[2Jy\u{7f}z\u{9b}31m \u{202e}fdp.exe\u{2066}walrus";
    home.put("evil", &format!("{evil}\n"));
    let is_control_or_bidi = |c: &char| {
        matches!(c,
        '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    for args in [
        &["get", "evil"][..],
        &["get", "evil", "--json"],
        &["search", "walrus"],
        &["search", "walrus", "--json"],
        &["list"],
        &["list", "--json"],
        &["history", "evil", "--json"],
    ] {
        let Some((code, screen)) = on_a_terminal(&home, 80, &[], args) else { return };
        assert_eq!(code, 0, "{args:?}: {screen:?}");
        assert_eq!(screen.chars().find(is_control_or_bidi), None, "{args:?}: {screen:?}");
        assert!(!screen.contains("\u{1b}[2J"), "{args:?}: {screen:?}");
    }
    // A pipe gets equivalent JSON and unchanged text.
    let piped = home.brain(["get", "evil", "--json"]).expect(0).stdout;
    assert_eq!(piped.chars().find(is_control_or_bidi), None, "{piped:?}");
    let page: serde_json::Value = serde_json::from_str(&piped).unwrap();
    assert_eq!(page["body"], format!("{evil}\n"));
    assert!(home.brain(["get", "evil"]).expect(0).stdout.contains(evil));
}

#[test]
fn a_closed_pipe_is_no_failure_and_prints_no_error() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("big", &"A long line of text for a pipe. ".repeat(100_000));
    for args in [
        &["get", "big"][..],
        &["get", "big", "--json"],
        &["list"],
        &["search", "text"],
        &["--help"],
        &["completions", "bash"],
    ] {
        let mut command = home.command("brain");
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 10];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{args:?}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{args:?}: {ended:?}");
    }
}

#[test]
fn large_output_arrives_complete_through_a_slow_pipe() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let text = "0123456789abcde\n".repeat(300_000);
    home.put("big", &text);
    // Another process with the pipe may have put it into non-blocking mode: then a write takes only
    // what fits.
    for is_blocking in [true, false] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        if !is_blocking {
            rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        }
        let mut command = home.command("brain");
        command.args(["get", "big"]).stdin(Stdio::null()).stdout(writer);
        let mut child = command.spawn().unwrap();
        // The command holds the end for writing.
        drop(command);
        std::thread::sleep(std::time::Duration::from_millis(200));
        let mut all = String::new();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "blocking: {is_blocking}");
        assert!(all.ends_with(&text), "blocking: {is_blocking}: {} bytes arrived", all.len());
    }
}

#[test]
fn a_full_device_is_a_reported_failure() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.put("big", &"text ".repeat(10_000));
    for args in [
        &["get", "big"][..],
        &["list", "--json"],
        &["search", "text"],
        &["config", "show"],
        &["--version"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = home.command("brain");
        let ended = command
            .args(args)
            .stdin(Stdio::null())
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {ended:?}");
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            stderr.contains("error") && stderr.contains("standard output"),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn an_unusable_standard_error_does_not_change_the_exit_code() {
    // The first command starts a daemon, and says so on standard error.
    for redirection in ["2>&-", "2>/dev/full"] {
        let home = TestHome::new();
        let brain = program("brain");
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("exec \"$0\" capture x {redirection}")])
            .arg(brain)
            .env_clear()
            .env("BRAIN_HOME", home.path())
            .envs(HTTP_ON_FREE_PORT);
        let result = run(command, b"").expect(0);
        assert!(result.stdout.contains("inbox/"), "{redirection}: {result:?}");
    }
}
