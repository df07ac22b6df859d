//! A report as Markdown: one sentence a line, with its number and, in a comment, what it cites; and
//! back. Everything else is made by code, so that a report that was read is made again and compared.

use std::fmt::Write as _;

use crate::compose::{Deleted, Report};
use crate::corpus::Corpus;
use crate::draw::figures;
use crate::expression::Expression;
use crate::sentence::{Draft, SECTIONS, Section};
use crate::tables::{self, Table};
use crate::verify::{CODES, Reason};

/// The heading of what was left out.
const LEFT_OUT: &str = "Left out";
/// What a line of it begins with that is about a given text; the lines are made again and compared.
const GIVEN: &str = "- A given text, ";

/// The report; figures are files beside it.
pub fn write(report: &Report, corpus: &Corpus) -> String {
    let mut text = format!("# {}\n\n<!-- auto-report 1 {} -->\n", title(corpus), report.run);
    for section in SECTIONS {
        let own: Vec<_> = report.sentences.iter().filter(|sentence| sentence.section == section).collect();
        if own.is_empty() && section == Section::RelatedWork {
            continue;
        }
        let _ = write!(text, "\n## {}\n", section.heading());
        let mut paragraph = None;
        for sentence in own {
            if paragraph != Some(sentence.paragraph) {
                text.push('\n');
                paragraph = Some(sentence.paragraph);
            }
            let (n, said) = (sentence.number, escaped(&sentence.draft.text));
            let _ = writeln!(text, "{said} [{n}](#s{n}){}", comment(&sentence.draft));
        }
        drawn(&mut text, section, corpus);
    }
    left_out(&mut text, report, corpus);
    let appendix = [tables::claims(report), tables::evidence(report, corpus), tables::files(report, corpus)];
    for table in appendix.iter().flatten() {
        let _ = write!(text, "\n## {}\n\n{}", table.caption, rows(table));
    }
    text
}

/// Its title.
pub fn title(corpus: &Corpus) -> String {
    format!("Report of {}", corpus.run())
}

/// Tables and figures of a section.
fn drawn(text: &mut String, section: Section, corpus: &Corpus) {
    let shown = match section {
        Section::Experiments => {
            for figure in figures(corpus) {
                let _ = write!(text, "\n![{}]({}.svg)\n", figure.caption, figure.name);
            }
            vec![tables::scores(corpus), tables::kept(corpus)]
        }
        Section::Discussion => vec![tables::disclosure(corpus)],
        _ => Vec::new(),
    };
    for table in shown.into_iter().flatten() {
        let _ = write!(text, "\n{}\n\n{}", table.caption, rows(&table));
    }
}

fn left_out(text: &mut String, report: &Report, corpus: &Corpus) {
    if report.deleted.is_empty() && corpus.left_out().is_empty() {
        return;
    }
    let _ = write!(text, "\n## {LEFT_OUT}\n\n");
    // Nothing proves what it said, so that does not stand here.
    for deleted in &report.deleted {
        let _ = writeln!(text, "- {}: {}", deleted.section.heading(), codes(deleted));
    }
    for given in corpus.left_out() {
        let _ = writeln!(text, "{GIVEN}{}", escaped(given));
    }
}

/// Why a sentence was left out.
pub fn codes(deleted: &Deleted) -> String {
    let mut codes: Vec<&str> = deleted.reasons.iter().map(|reason| reason.code).collect();
    codes.dedup();
    codes.join(" ")
}

fn comment(draft: &Draft) -> String {
    let using: Vec<String> = draft.using.iter().map(Expression::to_string).collect();
    let using = if using.is_empty() { String::new() } else { format!("; using {}", using.join("; ")) };
    // A model may have cited anything.
    let plain = |id: &&String| id.chars().all(|one| one.is_ascii_alphanumeric());
    let cites: Vec<&str> = draft.cites.iter().filter(plain).map(String::as_str).collect();
    format!("<!-- cites {}{using} -->", cites.join(" "))
}

fn rows(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = line(&mut table.head.iter().map(|head| (*head).to_owned()));
    text.push_str(&line(&mut table.head.iter().map(|_| "---".to_owned())));
    for (at, row) in table.rows.iter().enumerate() {
        let cell = |(column, cell): (usize, &String)| {
            let shown = escaped(cell).replace('|', "\\|");
            let anchor = table.caption == "Claims" && column == 0;
            if anchor { format!("<a id=\"s{}\"></a>{shown}", at + 1) } else { shown }
        };
        text.push_str(&line(&mut row.iter().enumerate().map(cell)));
    }
    text
}

/// Text in which nothing is markup but code between backticks.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    let balanced = text.matches('`').count().is_multiple_of(2);
    for one in auto_schema::shown(text).chars() {
        inside ^= one == '`' && balanced;
        let is_markup = "\\*_[]<>#&~!$^{}".contains(one) || (one == '`' && !balanced) || (one == '|' && !inside);
        if is_markup && !inside {
            out.push('\\');
        }
        out.push(one);
    }
    out
}

/// What [`escaped`] was made of.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    let mut inside = false;
    while let Some(one) = characters.next() {
        match one {
            '\\' if !inside => out.extend(characters.next()),
            _ => {
                inside ^= one == '`';
                out.push(one);
            }
        }
    }
    out
}

/// A sentence that was read, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number of its line, from 1.
    pub line: usize,
    /// Where it stands.
    pub section: Section,
    /// Which paragraph of that.
    pub paragraph: usize,
    /// What it says, and cites.
    pub draft: Draft,
}

/// A report that was read.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Of which run.
    pub run: String,
    /// What stands in it.
    pub sentences: Vec<Line>,
    /// What is said to be left out.
    pub deleted: Vec<Deleted>,
    /// Lines in the sections that are no sentences with what they cite, nor drawn, and those that are
    /// left out in words.
    pub strange: Vec<(usize, String)>,
    /// The files it says it rests on.
    pub files: Vec<(String, String)>,
}

/// Reads a report; none where it is no report of ours.
pub fn read(text: &str) -> Option<Parsed> {
    let mut parsed = Parsed::default();
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let head = lines.find_map(|(_, line)| line.strip_prefix("<!-- auto-report 1 ")?.strip_suffix(" -->"))?;
    parsed.run = head.to_owned();
    let (mut heading, mut section, mut paragraph) = ("", None, 0);
    for (at, line) in lines {
        if let Some(name) = line.strip_prefix("## ") {
            heading = name;
            section = SECTIONS.into_iter().find(|section| section.heading() == name);
            paragraph = 0;
            continue;
        }
        if heading == "Files" {
            parsed.files.extend(file(line));
        }
        match section {
            Some(_) if line.is_empty() => paragraph += 1,
            Some(section) => match sentence(line) {
                Some(draft) => parsed.sentences.push(Line { line: at, section, paragraph, draft }),
                None if is_drawn(line) => {}
                None => parsed.strange.push((at, line.to_owned())),
            },
            None if heading == LEFT_OUT => match deleted(line) {
                Some(deleted) => parsed.deleted.push(deleted),
                None if line.is_empty() || line.starts_with(GIVEN) => {}
                None => parsed.strange.push((at, line.to_owned())),
            },
            None => {}
        }
    }
    Some(parsed)
}

/// Tables, figures and their captions: those that code did not make differ from those it makes.
fn is_drawn(line: &str) -> bool {
    let captions = [
        "What was measured, before and after",
        "What counted, one after the other",
        "Budget, failed runs and what was quarantined",
    ];
    line.starts_with("| ") || line.starts_with("![") || captions.contains(&line)
}

fn sentence(line: &str) -> Option<Draft> {
    let (said, rest) = line.rsplit_once("](#s")?;
    let (text, number) = said.rsplit_once(" [")?;
    let (anchor, comment) = rest.split_once(')')?;
    let known = number == anchor && number.parse::<u32>().is_ok();
    known.then(|| cited(text, comment)).flatten()
}

fn cited(text: &str, comment: &str) -> Option<Draft> {
    let inner = comment.strip_prefix("<!-- cites ")?.strip_suffix(" -->")?;
    let mut parts = inner.split("; ");
    let cites = parts.next()?.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
    let using =
        parts.map(|part| Expression::parse(part.strip_prefix("using ").unwrap_or(part))).collect::<Option<_>>()?;
    Some(Draft { text: unescaped(text), cites, using })
}

/// A section and why, in no other words.
fn deleted(line: &str) -> Option<Deleted> {
    let (heading, codes) = line.strip_prefix("- ")?.split_once(": ")?;
    let section = SECTIONS.into_iter().find(|section| section.heading() == heading)?;
    let known = |code: &str| CODES.into_iter().find(|known| *known == code);
    let reason = |code: &str| Some(Reason { code: known(code)?, message: String::new() });
    let reasons = codes.split(' ').map(reason).collect::<Option<Vec<_>>>()?;
    let draft = Draft { text: String::new(), cites: Vec::new(), using: Vec::new() };
    Some(Deleted { section, draft, reasons })
}

fn file(line: &str) -> Option<(String, String)> {
    let mut cells = line.strip_prefix("| `")?.strip_suffix("` |")?.split("` | `");
    Some((cells.next()?.to_owned(), cells.next()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["a *b* _c_ [d](e) <b> `x | <y> \\ [z]` & 50% #1 ~ ! $2 ^ {a} | \\ end.", "it`s odd", "plain."] {
            assert_eq!(unescaped(&escaped(text)), text);
        }
        let line = "Of `a` \\[b\\] 2. [12](#s12)<!-- cites aa bb; using difference(aa/x, bb/y); sum(aa/x) -->";
        let draft = sentence(line).unwrap();
        assert_eq!((draft.text.as_str(), draft.cites.len(), draft.using.len()), ("Of `a` [b] 2.", 2, 2));
        for bad in
            ["A sentence.", "A. [1](#s2)<!-- cites aa -->", "A. [1](#s1)", "A. [1](#s1)<!-- cites a; using x -->"]
        {
            assert!(sentence(bad).is_none(), "{bad}");
        }
    }
}
