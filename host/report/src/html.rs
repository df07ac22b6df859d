//! A report as one page that prints well and needs nothing beside it.

use std::fmt::Write as _;

use crate::compose::Report;
use crate::corpus::Corpus;
use crate::draw::{escaped, figures};
use crate::markdown::{codes, title};
use crate::sentence::{SECTIONS, Section};
use crate::tables::{self, Table};

const STYLE: &str = include_str!("page.css");

/// The page.
pub fn write(report: &Report, corpus: &Corpus) -> String {
    let title = escaped(&title(corpus));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    for section in SECTIONS {
        body(&mut html, section, report, corpus);
    }
    left_out(&mut html, report, corpus);
    let appendix = [tables::claims(report), tables::evidence(report, corpus), tables::files(report, corpus)];
    for shown in appendix.iter().flatten() {
        let _ = write!(
            html,
            "<section class=\"appendix\">\n<h2>{}</h2>\n{}</section>\n",
            escaped(&shown.caption),
            table(shown)
        );
    }
    html + "</main>\n</body>\n</html>\n"
}

fn body(html: &mut String, section: Section, report: &Report, corpus: &Corpus) {
    let own: Vec<_> = report.sentences.iter().filter(|sentence| sentence.section == section).collect();
    if own.is_empty() && section == Section::RelatedWork {
        return;
    }
    let _ = write!(html, "<section>\n<h2>{}</h2>\n", section.heading());
    for paragraph in own.chunk_by(|one, two| one.paragraph == two.paragraph) {
        html.push_str("<p>");
        for sentence in paragraph {
            let n = sentence.number;
            let _ = writeln!(html, "{}<sup><a href=\"#s{n}\">{n}</a></sup>", marked(&sentence.draft.text));
        }
        html.push_str("</p>\n");
    }
    if section == Section::Experiments {
        for figure in figures(corpus) {
            let _ = write!(
                html,
                "<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n",
                figure.svg,
                escaped(figure.caption)
            );
        }
        captioned(html, &[tables::scores(corpus), tables::kept(corpus)]);
    }
    if section == Section::Discussion {
        captioned(html, &[tables::disclosure(corpus)]);
    }
    html.push_str("</section>\n");
}

fn captioned(html: &mut String, tables: &[Option<Table>]) {
    for shown in tables.iter().flatten() {
        let _ =
            write!(html, "<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", escaped(&shown.caption), table(shown));
    }
}

fn left_out(html: &mut String, report: &Report, corpus: &Corpus) {
    if report.deleted.is_empty() && corpus.left_out().is_empty() {
        return;
    }
    html.push_str("<section>\n<h2>Left out</h2>\n<ul>\n");
    for deleted in &report.deleted {
        let (section, why) = (deleted.section.heading(), codes(deleted));
        let _ = writeln!(html, "<li>{section}: <code>{}</code></li>", escaped(&why));
    }
    for given in corpus.left_out() {
        let _ = writeln!(html, "<li>A given text, {}</li>", escaped(given));
    }
    html.push_str("</ul>\n</section>\n");
}

fn table(shown: &Table) -> String {
    let mut html = "<div class=\"wide\"><table>\n<thead><tr>".to_owned();
    for head in &shown.head {
        let _ = write!(html, "<th>{}</th>", escaped(head));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for (at, row) in shown.rows.iter().enumerate() {
        let anchor = if shown.caption == "Claims" { format!(" id=\"s{}\"", at + 1) } else { String::new() };
        let _ = write!(html, "<tr{anchor}>");
        for cell in row {
            let number = cell.chars().all(|one| one.is_ascii_digit() || ".-".contains(one)) && !cell.is_empty();
            let class = if number { " class=\"number\"" } else { "" };
            let _ = write!(html, "<td{class}>{}</td>", marked(cell));
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody>\n</table></div>\n"
}

/// Text in which code between backticks is set as code.
fn marked(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let part = |(at, part): (usize, &&str)| {
        if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) }
    };
    parts.iter().enumerate().map(part).collect()
}
