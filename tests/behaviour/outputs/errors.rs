//! Transcripts of typical mistakes.

use super::transcript::Transcript;

#[test]
fn mistakes() {
    let mut user = Transcript::new();
    user.home.put("people/ada-lovelace", "# Ada\n");
    user.home.put("people/ada-byron", "# Ada, too\n");
    user.run(
        r#"
        # words
        brain serch engine
        brain new page
        brain get
        brain get a b
        brain list --tags x
        brain list --limit 0
        brain list --limit many
        brain list --sort size
        brain list --since someday
        brain sources rename
        brain list --json --format csv
        # pages
        brain get none
        brain get people/ada-lovelaec
        brain get people/ada
        brain get "A B"
        brain get ../x
        brain get work:x
        brain get work:x --source default
        brain append people/ada x
        brain delete none
        brain mv people/ada-byron people/ada-lovelace
        # texts
        brain capture ""
        brain put a
        printf -- '---\nbroken: [1, 2\n---\nx\n' | brain put a
        printf 'a\0b' | brain put a
        printf 'caf\351' | brain put a
        brain capture --file none.md
        brain capture --file .
        # the daemon
        BRAIN_HOME=/proc/none brain list
        BRAIN_HOME=~/new brain list --no-start
        "#,
    );
    user.compare("mistakes");
}
