//! Generates notes with a few thousand word forms in the frequencies of natural text, unique names,
//! frontmatter and links. The same number gives the same note on every machine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The most frequent words, by frequency.
const COMMON: &str = "the of and to a in is that for it was on as with be by at this are from or \
    have not an they which one you were all her she there would their we him been has when who \
    will no more if out so up said what its about than into them can only other time new some \
    could these two may first then do any like my now over such our man me even most made after \
    also did many before must through years where much your way down should because long each just \
    state those people too mr how little good world make very year still see own work men day get \
    here old between both life being under three never know same last another while us off might \
    great go come since against";

/// Words that get each of [`ENDINGS`].
const STEMS: &str = "account act affirm agent align alter amount anchor answer appoint approach \
    argument arrange assign attempt audit author balance bank barrel basin batch beacon bench \
    board border bottom branch bridge budget buffer build bundle cabin cable calendar canal candle \
    carbon cargo carpet center chain chair channel chapter charter chart check circuit claim class \
    clear client climb cluster coast collect color column comfort comment commit compass concern \
    concert conduct confirm connect consider contact content contest contract control convert \
    copper corner cost cotton council count counter court cover craft crew crop cross crowd \
    culture current curtain custom cycle dealer debt decision deck defend deliver demand depart \
    deposit depth desert design desk detail develop device direct discover display distance \
    district doctor domain door doubt draft dream drift drill drive duty earn earth edge edit \
    effect effort elder elect element employ enter equal escort event exam exchange exhibit expand \
    expect expert explain export extend fabric factor farm father favor feature field filter final \
    finger finish fiscal flag floor flow focus folder follow forest form fortune forward found \
    frame fresh front fuel fund garden garment gather general ghost glass govern grade grain grant \
    graph gravel green ground group grow guard guest guide habit hammer handle harbor harvest head \
    health heart heat height herald history hollow honor host house human hunt ice image import \
    income index inform insect insist inspect install invent invest iron island issue item jacket \
    join journal judge jump junior kernel kettle key kind kitchen knock label labor ladder lake \
    lamp land lantern latch launch law layer lead leaf learn ledger legal lesson letter level \
    library lift light limit line link list listen load loan lobby lock logic loop lumber machine \
    mail manner manual map margin mark market master matter meadow measure meet member memo mental \
    mention merchant metal meter method middle mill mind mineral minister mirror mission model \
    modern moment monitor month moral motion motor mountain move museum music narrow nation nature \
    neighbor network night north note notice number object observ offer office open operat opinion \
    option orbit order organ origin outlet output packet paint panel paper parcel parent park \
    partner pass patent path pattern pay pension perform permit person phase phone pilot plan \
    planet plant plaster plate platform point poison policy pool portion position poster powder \
    power prefer present press print prison process produc profit program project promis proof \
    proper protect protest provid pump quarter question quick radio rail rain ranch record reform \
    regard region register relat remain remark remind render rent repair repeat report request \
    research reserv resist respond rest result return reveal reward ridge river road rocket roof \
    room root rough round route sail salmon sand scale scatter school science screen search season \
    second section sector select sell senior sentence sequence serv session settle shadow shape \
    share shelter shift shop shore signal silver sister site sketch social soft soil solar sort \
    sound source south space spark special spell spirit spring square staff stage stand start \
    station steel step stock stone storm story stream street stretch strike struct student studio \
    subject submit summer supply support surface surround survey switch symbol system table target \
    task teach temper term test theater thread tower town track trade traffic train transfer \
    travel treat trend trial trust turn union unit update valley value vector vendor venture \
    vessel victor village vision visit voice volume vote wage walk wall warn watch water wave \
    weather weight west wheel wind window winter wonder wood worker yard yield";

const ENDINGS: &[&str] = &["", "s", "ed", "ing", "er", "ers", "able", "ment", "ful", "ly"];

const TAGS: &str = "work home idea reading meeting project money health travel music people code \
    garden food history design research review draft later urgent family books science law sports \
    photo recipe learning writing energy";

/// A note.
pub(crate) struct Note {
    /// The path relative to the directory, with its extension.
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) frontmatter: String,
    pub(crate) body: String,
    /// A name that no other note has. The note itself and later notes mention it.
    pub(crate) name: String,
}

impl Note {
    pub(crate) fn slug(&self) -> &str {
        self.path.trim_end_matches(".md")
    }

    pub(crate) fn content(&self) -> String {
        format!("---\n{}---\n{}", self.frontmatter, self.body)
    }
}

/// Number of directories of notes.
const AREAS: usize = 97;

/// Generates notes.
pub(crate) struct Notes {
    /// How many of the first `words` are from [`COMMON`].
    common_count: usize,
    /// Word forms, the most frequent first.
    words: Vec<String>,
    tags: Vec<&'static str>,
}

impl Notes {
    pub(crate) fn new() -> Self {
        let mut words: Vec<String> = COMMON.split_whitespace().map(Into::into).collect();
        let common_count = words.len();
        for ending in ENDINGS {
            words.extend(STEMS.split_whitespace().map(|stem| format!("{stem}{ending}")));
        }
        // The order of these forms is random, but equal on every machine.
        let mut rng = Rng(17);
        for i in (common_count + 1..words.len()).rev() {
            words.swap(i, common_count + rng.below(i - common_count + 1));
        }
        Self { common_count, words, tags: TAGS.split_whitespace().collect() }
    }

    /// Returns the number of word forms without names.
    pub(crate) fn forms(&self) -> usize {
        self.words.len()
    }

    /// Generates the note with the number `n`.
    pub(crate) fn note(&self, n: usize) -> Note {
        let mut rng = Rng(n as u64 ^ 0xB4A1);
        let name = name(n);
        let mut title = self.topic(&mut rng).to_owned();
        capitalise(&mut title);
        let _ = write!(title, " {} {}", self.topic(&mut rng), self.topic(&mut rng));
        let path =
            format!("area-{:02}/{}-{n:06}.md", n % AREAS, title.to_lowercase().replace(' ', "-"));
        let _ = write!(title, " with {name}");
        let mut tags: Vec<&str> =
            (0..1 + rng.below(3)).map(|_| self.tags[rng.zipf(self.tags.len())]).collect();
        tags.sort_unstable();
        tags.dedup();
        let mut frontmatter = format!("title: {title}\ntags: [{}]\n", tags.join(", "));
        let date = format!(
            "20{:02}-{:02}-{:02}",
            15 + rng.below(11),
            1 + rng.below(12),
            1 + rng.below(28)
        );
        let _ = writeln!(frontmatter, "created: {date}");
        if rng.below(3) == 0 {
            let _ =
                writeln!(frontmatter, "source: https://example.org/{}/{n}", self.topic(&mut rng));
        }
        let mut body = String::with_capacity(1300);
        let _ = writeln!(body, "# {title}\n");
        let min_length = 700 + rng.below(700);
        while body.len() < min_length {
            self.paragraph(&mut body, &mut rng, n);
        }
        if rng.below(8) == 0 {
            let _ = writeln!(
                body,
                "## Timeline\n\n- {date} | {} [Source: {name}]",
                self.words[self.common_count + 3]
            );
        }
        Note { path, title, frontmatter, body, name }
    }

    fn paragraph(&self, body: &mut String, rng: &mut Rng, n: usize) {
        if rng.below(5) == 0 {
            for _ in 0..3 {
                body.push_str("- ");
                self.sentence(body, rng, n);
                body.push('\n');
            }
        } else {
            for _ in 0..2 + rng.below(3) {
                self.sentence(body, rng, n);
                body.push(' ');
            }
            body.pop();
        }
        body.push_str("\n\n");
    }

    fn sentence(&self, body: &mut String, rng: &mut Rng, n: usize) {
        for i in 0..8 + rng.below(10) {
            let mut word = match rng.below(60) {
                0 => name(rng.below(n + 1)),
                1 => format!("[[{}]]", name(rng.below(n + 1)).to_lowercase()),
                _ => self.words[rng.zipf(self.words.len())].clone(),
            };
            if i == 0 {
                capitalise(&mut word);
            } else {
                body.push(' ');
            }
            body.push_str(&word);
        }
        body.push('.');
    }

    /// Returns a random word that is not in [`COMMON`].
    fn topic(&self, rng: &mut Rng) -> &str {
        &self.words[self.common_count + rng.zipf(self.words.len() - self.common_count)]
    }

    /// Returns the question with the number `n`, of two or three words.
    pub(crate) fn question(&self, n: usize) -> String {
        let mut rng = Rng(n as u64 ^ 0x51_7E57);
        let words: Vec<&str> = (0..2 + rng.below(2)).map(|_| self.topic(&mut rng)).collect();
        words.join(" ")
    }

    /// Returns two words that are adjacent in many notes.
    pub(crate) fn common_phrase(&self) -> String {
        format!("{} {}", self.words[1], self.words[0])
    }

    /// Writes the notes with the numbers in `range` below `dir`. Returns `dir`.
    pub(crate) fn write(
        &self,
        dir: &Path,
        range: std::ops::Range<usize>,
    ) -> std::io::Result<PathBuf> {
        for area in 0..AREAS {
            std::fs::create_dir_all(dir.join(format!("area-{area:02}")))?;
        }
        for note in range.map(|n| self.note(n)) {
            std::fs::write(dir.join(&note.path), note.content())?;
        }
        Ok(dir.to_owned())
    }
}

/// Returns a name that is not a word. Numbers below 16⁵ have different names.
fn name(mut n: usize) -> String {
    const PARTS: &[&str] = &[
        "ka", "lo", "mi", "ne", "ru", "sa", "te", "vo", "zu", "bri", "dra", "fel", "gon", "hul",
        "jam", "qua",
    ];
    let mut out = String::from("Zy");
    for _ in 0..5 {
        out.push_str(PARTS[n % PARTS.len()]);
        n /= PARTS.len();
    }
    out
}

fn capitalise(word: &mut str) {
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
}

/// A pseudo-random generator with its state (SplitMix64).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, or 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Returns a rank below `n`. As by Zipf's law, higher ranks are less likely.
    fn zipf(&mut self, n: usize) -> usize {
        let u = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        ((((n + 1) as f64).ln() * u).exp() as usize).clamp(1, n) - 1
    }
}
