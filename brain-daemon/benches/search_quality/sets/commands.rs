//! Command lines pasted into the search field. Notes hold them in code blocks or between backticks;
//! other notes hold similar commands of the same program.

use super::prose::{LANGUAGES, page, prose, slug};
use crate::films::Rng;
use crate::set::{Doc, Set};

/// A subject of a note, its commands, and commands that only differ in details. The similar ones
/// are on a note of their own.
struct Recipe(&'static str, &'static [&'static str], &'static [&'static str]);

const RECIPES: &[Recipe] = &[
    Recipe(
        "Node tools",
        &["npm install -g vault-headless", "npm run build -- --mode=production"],
        &["npm install --save-dev vault-lint", "npm run test -- --watch"],
    ),
    Recipe(
        "Rewriting history",
        &[
            "git commit --amend -m",
            "git rebase -i HEAD~3",
            "git push --force-with-lease origin main",
        ],
        &["git commit -a -m \"wip\"", "git rebase --abort", "git push -u origin feature"],
    ),
    Recipe(
        "Stash",
        &[
            "git stash push -k -u",
            "git checkout -b hotfix/login",
            "git log --oneline --graph --all",
        ],
        &["git stash pop", "git checkout -- README.md", "git log -p --follow src/main.c"],
    ),
    Recipe(
        "Container upkeep",
        &["docker run --rm -it -v \"$PWD\":/work alpine sh", "docker system prune -a --volumes"],
        &["docker run -d --name web nginx", "docker compose up -d --build"],
    ),
    Recipe(
        "Cluster",
        &[
            "kubectl get pods -n staging -o wide",
            "kubectl rollout undo deployment/api --to-revision=2",
        ],
        &["kubectl logs -f deploy/api", "kubectl delete pod -l app=api"],
    ),
    Recipe(
        "Big files",
        &["du -sh * | sort -h | tail -n 20", "find . -type f -size +100M -exec ls -lh {} \\;"],
        &["du -a /var | head", "find /tmp -name '*.log' -mtime +7 -delete"],
    ),
    Recipe(
        "Search in files",
        &["grep -rnw './src' -e 'TODO'", "rg --hidden -g '!.git' 'unwrap\\('"],
        &["grep -c error app.log", "rg -l 'import React'"],
    ),
    Recipe(
        "Copying between hosts",
        &[
            "rsync -avz --delete ./site/ web@host:/srv/site/",
            "scp -P 2222 backup.tar.gz nas:/volume1/",
        ],
        &["rsync -n -r src dst", "ssh -N -L 5433:localhost:5432 db.internal"],
    ),
    Recipe(
        "Archives",
        &[
            "tar -czvf photos.tar.gz --exclude='*.tmp' photos/",
            "tar --strip-components=1 -xf src.tgz",
        ],
        &["tar -tf photos.tar", "unzip -l album.zip"],
    ),
    Recipe(
        "Certificates",
        &[
            "openssl req -x509 -newkey rsa:4096 -nodes -days 365",
            "openssl s_client -connect host:443",
        ],
        &["openssl rand -hex 32", "openssl x509 -in cert.pem -noout -text"],
    ),
    Recipe(
        "Video cutting",
        &[
            "ffmpeg -ss 00:01:30 -to 00:02:00 -i in.mp4 -c copy out.mp4",
            "ffmpeg -i a.wav -b:a 192k a.mp3",
        ],
        &["ffmpeg -i in.mkv -vf scale=1280:-2 out.mp4", "ffprobe -v error -show_format in.mp4"],
    ),
    Recipe(
        "Documents",
        &["pandoc -s thesis.md -o thesis.pdf --pdf-engine=xelatex", "pdftotext -layout scan.pdf -"],
        &["pandoc -f html -t gfm page.html", "pdfunite a.pdf b.pdf all.pdf"],
    ),
    Recipe(
        "Python set-up",
        &[
            "python3 -m venv .venv && source .venv/bin/activate",
            "pip install -r requirements.txt --no-cache-dir",
        ],
        &["python3 -m http.server 8000", "pip freeze > requirements.txt"],
    ),
    Recipe(
        "Rust checks",
        &["cargo clippy --all-targets -- -D warnings", "RUST_LOG=debug cargo run --release"],
        &["cargo test -p parser -- --nocapture", "cargo update --dry-run"],
    ),
    Recipe(
        "Services",
        &[
            "systemctl --user enable --now syncthing.service",
            "journalctl -u nginx --since \"1 hour ago\" -f",
        ],
        &["systemctl restart nginx", "journalctl --disk-usage"],
    ),
    Recipe(
        "Rights",
        &["chmod -R u+rwX,go-w ~/shared", "setfacl -m u:alice:rx /srv/data"],
        &["chmod +x run.sh", "chown -R www-data: /srv/www"],
    ),
    Recipe(
        "JSON",
        &[
            "curl -sSL https://api.example.org/v1/items | jq -r '.[].name'",
            "jq '.a | length' data.json",
        ],
        &["curl -I https://example.org", "jq -s 'add' part1.json part2.json"],
    ),
    Recipe(
        "Posting",
        &[
            "curl -X POST -H \"Content-Type: application/json\" -d '{\"id\": 7}' localhost:8080/jobs",
        ],
        &["curl -o out.html https://example.org", "wget -c https://example.org/big.iso"],
    ),
    Recipe(
        "Text surgery",
        &["sed -i.bak 's/foo/bar/g' *.conf", "awk -F, '{ print $2 }' list.csv | uniq -c"],
        &["sed -n '5,10p' file.txt", "awk 'NR % 2 == 0' file.txt"],
    ),
    Recipe(
        "Sessions",
        &["tmux new -s work -d", "tmux attach -t work"],
        &["screen -dmS build make", "tmux kill-server"],
    ),
    Recipe(
        "Database dump",
        &[
            "pg_dump -Fc --no-owner shop > shop.dump",
            "sqlite3 -header -csv app.db 'select * from users;'",
        ],
        &["pg_restore -l shop.dump", "psql -h db -U shop -c 'select 1'"],
    ),
    Recipe(
        "Disks",
        &["mount -o remount,rw /", "dd if=image.iso of=/dev/sdX bs=4M status=progress"],
        &["umount -l /mnt/nas", "lsblk -f"],
    ),
    Recipe(
        "Network",
        &["ip -br addr show", "nmap -sn 192.168.0.0/24", "tcpdump -i eth0 -nn port 53"],
        &["ip route get 1.1.1.1", "nmap -p- host", "ss -tlnp"],
    ),
    Recipe(
        "Packages",
        &["apt-get install -y --no-install-recommends ripgrep", "brew install --cask font-iosevka"],
        &["apt-get remove ripgrep", "brew upgrade --dry-run"],
    ),
    Recipe(
        "Windows machine",
        &["Get-ChildItem -Recurse -Filter *.log", "robocopy C:\\Data D:\\Backup /MIR /Z"],
        &["Get-Process -Name code", "xcopy C:\\Data E:\\ /S"],
    ),
];

/// Sentences before a command, of each language.
const INTRODUCTIONS: [[&str; 4]; 4] = [
    [
        "What finally worked:",
        "Run this, not the other one:",
        "From the shell history:",
        "I always forget it:",
    ],
    ["Das hat geholfen:", "So geht es:", "Aus der Shell:", "Das vergesse ich immer:"],
    ["Voici ce qui a marché :", "À lancer ainsi :", "Dans le terminal :", "À retenir :"],
    ["Esto funcionó:", "Se hace así:", "En la terminal:", "Siempre lo olvido:"],
];

/// Questions with a command between other words. `CMD` is the command.
const SENTENCES: [&str; 16] = [
    "how did I use CMD",
    "what does CMD do?",
    "CMD not working",
    "CMD example",
    "where did I write down CMD",
    "error when running `CMD`",
    "difference to CMD",
    "why CMD and no other flags",
    "was macht CMD",
    "Notiz mit CMD",
    "wozu dient `CMD`?",
    "à quoi sert CMD ?",
    "note avec CMD",
    "qué hace CMD",
    "¿para qué sirve `CMD`?",
    "apunte con CMD",
];

/// Returns all sets.
pub(crate) fn sets() -> Vec<Set> {
    vec![pasted(), in_sentences()]
}

/// Returns the notes, and each command with the id of its note.
fn notes(rng: &mut Rng) -> (Vec<Doc>, Vec<(&'static str, String)>) {
    let mut docs = Vec::new();
    let mut commands = Vec::new();
    for (number, Recipe(subject, wanted, similar)) in RECIPES.iter().enumerate() {
        let language = number % LANGUAGES.len();
        for (at, command) in wanted.iter().enumerate() {
            let id = format!("howto/{}-{}", slug(subject), at + 1);
            let text = note(language, command, number + at, rng);
            docs.push(page(id.clone(), &format!("{subject} {}", at + 1), text, "tags: [shell]\n"));
            commands.push((*command, id));
        }
        for (at, command) in similar.iter().enumerate() {
            let id = format!("log/{}-{}", slug(subject), at + 1);
            let text = note((language + 1) % LANGUAGES.len(), command, number + at + 1, rng);
            docs.push(page(id, &format!("Log: {subject}, part {}", at + 1), text, ""));
        }
        // The program's name in prose, without its flags.
        let program = wanted[0].split(' ').next().unwrap_or_default();
        let text = format!(
            "{} We talked about {program} and how to install it; the {subject} were no topic. {}",
            prose("en", rng, 3),
            prose("en", rng, 4)
        );
        docs.push(page(format!("talks/{number}"), &format!("Talk about {program}"), text, ""));
    }
    (docs, commands)
}

/// Returns the text of a note with a command: in a block with or without a prompt, or in a sentence.
fn note(language: usize, command: &str, form: usize, rng: &mut Rng) -> String {
    let introduction = INTRODUCTIONS[language][form % 4];
    let code = match form % 4 {
        0 => format!("{introduction}\n\n```sh\n{command}\n```"),
        1 => format!("{introduction} `{command}`"),
        2 => format!("{introduction}\n\n```\n$ cd ~/work\n$ {command}\n```"),
        _ => format!("{introduction}\n\n    {command}"),
    };
    let language = LANGUAGES[language];
    format!("{}\n\n{code}\n\n{}", prose(language, rng, 3), prose(language, rng, 3))
}

/// Asks with command lines as people paste them: whole, with a prompt, cut, or with other values.
fn pasted() -> Set {
    let mut rng = Rng(20_261_201);
    let (docs, commands) = notes(&mut rng);
    let mut questions = Vec::new();
    for (number, (command, id)) in commands.iter().enumerate() {
        questions.push(((*command).to_owned(), vec![id.clone()]));
        let words: Vec<&str> = command.split(' ').collect();
        let without_last = words[..words.len() - 1].join(" ");
        let changed = match number % 6 {
            0 => format!("$ {command}"),
            1 => format!("sudo {command}"),
            2 if words.len() > 4 => without_last,
            3 => format!("`{command}`"),
            4 => command.replace('"', "”").replace(" -", " –"),
            5 if words.len() > 3 => format!("{without_last} other"),
            _ => format!("cd ~/work\n{command}\n"),
        };
        questions.push((changed, vec![id.clone()]));
    }
    Set::new("commands", docs, &questions)
}

/// Asks with a command between other words.
fn in_sentences() -> Set {
    let mut rng = Rng(20_261_202);
    let (docs, commands) = notes(&mut rng);
    let mut questions = Vec::new();
    for (number, (command, id)) in commands.iter().enumerate() {
        for form in [number, number * 3 + 8, number * 5 + 11] {
            let text = SENTENCES[form % SENTENCES.len()].replace("CMD", command);
            questions.push((text, vec![id.clone()]));
        }
    }
    questions.sort();
    questions.dedup();
    Set::new("commands-in-sentences", docs, &questions)
}
