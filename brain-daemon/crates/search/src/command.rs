//! Command lines among questions: in `git commit --amend -m`, `-m` is an option of the command and
//! excludes nothing.

/// Returns whether a question is a command line by its signs alone: an option with two dashes or
/// one letter, or signs of a shell beside an option.
///
/// An option such as `-name` or `-j4` also looks like an excluded word.
pub(super) fn is_command(question: &str) -> bool {
    let mut words = question.split_whitespace().skip_while(|word| matches!(*word, "$" | ">" | "%"));
    if words.next().is_none_or(|first| first.starts_with('-')) {
        return false;
    }
    words.clone().any(is_clear_option)
        || (words.clone().any(is_shell_sign) && has_options(question))
}

/// Returns whether a word looks like an option of a command, or like an excluded word.
#[must_use]
pub fn is_option(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
}

/// Returns whether a word after the first one looks like an option.
fn has_options(question: &str) -> bool {
    question.split_whitespace().skip(1).any(is_option)
}

/// Returns whether a word is an option and no excluded word.
fn is_clear_option(word: &str) -> bool {
    match word.as_bytes() {
        [b'-', b'-', letter, ..] => letter.is_ascii_alphabetic(),
        [b'-', letter] => letter.is_ascii_alphabetic(),
        // `-I/usr/include`: no word of a text looks like that.
        [b'-', letter, sign, ..] => {
            letter.is_ascii_alphabetic() && matches!(sign, b'/' | b'=' | b'.')
        }
        _ => false,
    }
}

fn is_shell_sign(word: &str) -> bool {
    matches!(word, "|" | "||" | "&&" | ">" | ">>" | "<" | "2>&1" | "\\")
        || word.starts_with("./")
        || word.starts_with("$(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_exclusions() {
        for command in [
            "npm install -g obsidian-headless",
            "git commit --amend -m \"fix the typo\"",
            "ps aux | grep -v root",
            "tar xzf a.tgz && ./configure -prefix /usr",
            "gcc -I/usr/include main.c",
            "curl --request=GET localhost",
        ] {
            assert!(is_command(command), "{command}");
        }
        for question in [
            "jaguar -car",
            "rust -\"async runtime\" -tag:old",
            "-draft notes",
            "a - b -- c",
            "well-known e-mail",
            "temperature -5",
            "docker -k8s",
            "roadmap -q3 -v2",
            "java -jar server.jar",
            "find . -name notes",
            "",
        ] {
            assert!(!is_command(question), "{question}");
        }
        assert!(has_options("java -jar server.jar"));
        assert!(!has_options("-draft notes"));
    }
}
