//! A census as a page: one file, nothing outside it, everything in it measured.

use std::fmt::Write as _;

use auto_schema::shown;
use auto_store::{Census, Divergent, Row, Tally};

use super::chart::{Bar, bars, escaped};

/// How much of a long input the page holds.
const SHOWN: usize = 2_000;

const STYLE: &str = include_str!("page.css");

/// The page.
pub fn page(census: &Census) -> String {
    let task = escaped(&shown(&census.task));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>Census of {task}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<h1>Census of <em>{task}</em></h1>\n"
    );
    html.push_str(&summary(census));
    section(&mut html, "What is a fixed rule", &kinds(census));
    section(&mut html, "What repeats", &repeats(census));
    section(&mut html, "Time and cost", &costs(census));
    section(&mut html, "Operations", &operations(census));
    if !census.divergent.is_empty() {
        section(&mut html, "Where the same input led to different outputs", &divergent(census));
    }
    html + "</main>\n</body>\n</html>\n"
}

fn section(html: &mut String, title: &str, body: &str) {
    let _ = write!(html, "<section>\n<h2>{title}</h2>\n{body}</section>\n");
}

fn summary(census: &Census) -> String {
    let total = &census.total;
    let mut cards = vec![
        (number(census.traces), "whole recordings".to_owned()),
        (number(total.all.spans), format!("operations on {} distinct inputs", number(total.all.inputs))),
        (total.coverage().to_string(), "of them on inputs that were seen at least twice".to_owned()),
        (total.deterministic_by_spans().to_string(), "of those always came out the same".to_owned()),
    ];
    if let Some(runs) = &census.runs {
        let share = runs.row.deterministic_by_spans();
        cards.push((
            share.to_string(),
            format!("of {} repeated whole runs came out the same", number(runs.row.witnessed.spans)),
        ));
    }
    let mut html = "<dl class=\"cards\">\n".to_owned();
    for (figure, what) in cards {
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(&figure), escaped(&what));
    }
    html.push_str("</dl>\n");
    if census.partial > 0 {
        let _ = writeln!(html, "<p>{} recordings were cut off and are left out.</p>", number(census.partial));
    }
    html
}

const LEGEND: &str = "<p class=\"legend\"><span class=\"key fixed\"></span> always the same \
    <span class=\"key varies\"></span> came out differently, or failed <span class=\"key once\"></span> seen once: \
    nothing can be said</p>\n";

/// The parts of a row: deterministic, witnessed but not that, seen once.
fn parts(row: &Row, of: impl Fn(&Tally) -> u64) -> Vec<(&'static str, u64)> {
    let (all, witnessed, fixed) = (of(&row.all), of(&row.witnessed), of(&row.deterministic));
    vec![("fixed", fixed), ("varies", witnessed.saturating_sub(fixed)), ("once", all.saturating_sub(witnessed))]
}

fn kinds(census: &Census) -> String {
    let bar = |row: &Row| Bar {
        label: label(row),
        parts: parts(row, |tally| tally.spans),
        said: format!("{} of {}", number(row.deterministic.spans), number(row.all.spans)),
    };
    let mut rows: Vec<Bar> = census.kinds.iter().map(bar).collect();
    rows.push(bar(&census.total));
    format!(
        "<p>Operations by kind. Green is what a compiled artifact could have answered as it was recorded.</p>\n{LEGEND}{}",
        bars("operations by kind, and how many of them always came out the same", &rows)
    )
}

fn repeats(census: &Census) -> String {
    let rows: Vec<Bar> = census
        .seen
        .iter()
        .map(|seen| Bar {
            label: match seen.most {
                Some(1) => "once".to_owned(),
                Some(most) if most == seen.least => format!("{most} times"),
                Some(most) => format!("{} to {most} times", seen.least),
                None => format!("{} times or more", seen.least),
            },
            parts: vec![(if seen.least == 1 { "once" } else { "plain" }, seen.tally.spans)],
            said: format!("{} on {} inputs", number(seen.tally.spans), number(seen.tally.inputs)),
        })
        .collect();
    format!(
        "<p>Operations by how often their input was seen. What is below the first bar was worked out more than once.</p>\n{}",
        bars("operations by how often their input was seen", &rows)
    )
}

fn costs(census: &Census) -> String {
    let total = &census.total;
    let time = |row: &Row| Bar {
        label: label(row),
        parts: parts(row, |tally| tally.micros),
        said: format!("{} of {}", duration(row.deterministic.micros), duration(row.all.micros)),
    };
    let mut html = String::new();
    if total.all.micros == 0 {
        html.push_str("<p>No recording says how long it took.</p>\n");
    } else {
        html.push_str("<p>How long operations took, as recorded; one inside another counts for both.</p>\n");
        html.push_str(LEGEND);
        html.push_str(&bars("recorded time by kind", &census.kinds.iter().map(time).collect::<Vec<_>>()));
    }
    if total.all.priced == 0 {
        html.push_str("<p>No recording says what it cost (<code>cost_usd_micros</code>).</p>\n");
        return html;
    }
    let priced: Vec<&Row> = census.kinds.iter().filter(|row| row.all.priced > 0).collect();
    let cost = |row: &&Row| Bar {
        label: label(row),
        parts: parts(row, |tally| tally.cost),
        said: format!("{} of {}", money(row.deterministic.cost), money(row.all.cost)),
    };
    let _ = writeln!(
        html,
        "<p>What agents said that it cost: {} in {} operations. Those that always came out the same cost {}, which is \
         what an artifact for them would have saved on these recordings.</p>",
        money(total.all.cost),
        number(total.all.priced),
        money(total.deterministic.cost)
    );
    html + &bars("declared cost by kind", &priced.iter().map(cost).collect::<Vec<_>>())
}

fn operations(census: &Census) -> String {
    let mut html = String::from(
        "<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">operation</th><th scope=\"col\">kind</th>\
         <th scope=\"col\">spans</th><th scope=\"col\">inputs</th><th scope=\"col\">seen twice or more</th>\
         <th scope=\"col\">always the same</th><th scope=\"col\">of those seen twice</th><th scope=\"col\">errors</th>\
         <th scope=\"col\">time</th><th scope=\"col\">declared cost</th></tr></thead>\n<tbody>\n",
    );
    for row in &census.operations {
        let cells = [
            number(row.all.spans),
            number(row.all.inputs),
            number(row.witnessed.spans),
            number(row.deterministic.spans),
            row.deterministic_by_spans().to_string(),
            number(row.errors),
            duration(row.all.micros),
            if row.all.priced > 0 { money(row.all.cost) } else { "–".to_owned() },
        ];
        let name = escaped(&shown(row.name.as_deref().unwrap_or_default()));
        let _ = write!(html, "<tr><th scope=\"row\">{name}</th><td>{}</td>", escaped(&shown(&row.kind)));
        cells.iter().for_each(|cell| {
            let _ = write!(html, "<td class=\"number\">{}</td>", escaped(cell));
        });
        html.push_str("</tr>\n");
    }
    html + "</tbody>\n</table></div>\n"
}

fn divergent(census: &Census) -> String {
    let mut html = String::from("<p>No rule gives two outputs for one input. The most frequent ones:</p>\n");
    for one in &census.divergent {
        let Divergent { kind, name, input, spans, outputs, errors } = one;
        let failed = if *errors > 0 { format!(", {} failed", number(*errors)) } else { String::new() };
        let _ = writeln!(
            html,
            "<details><summary>{} <strong>{}</strong>: seen {} times, {} outputs{failed}</summary><pre>{}</pre></details>",
            escaped(&shown(kind)),
            escaped(&shown(name)),
            number(*spans),
            number(*outputs),
            escaped(&shown(&clipped(input.as_str())))
        );
    }
    html
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} … ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

fn label(row: &Row) -> String {
    if row.kind.is_empty() { "all".to_owned() } else { shown(&row.kind) }
}

/// With a thin space between thousands.
fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Dollars, as exactly as they are small.
fn money(micros: u64) -> String {
    let (dollars, rest) = (micros / 1_000_000, micros % 1_000_000);
    if dollars > 0 { format!("${}.{:02}", number(dollars), rest / 10_000) } else { format!("${dollars}.{rest:06}") }
}

/// In the largest unit that leaves a digit before the point.
fn duration(micros: u64) -> String {
    let (size, unit) = match micros {
        0 => return "0".to_owned(),
        1..1_000 => return format!("{micros} µs"),
        1_000..1_000_000 => (1_000, "ms"),
        1_000_000..3_600_000_000 => (1_000_000, "s"),
        _ => (3_600_000_000, "h"),
    };
    format!("{}.{} {unit}", number(micros / size), micros % size * 10 / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_never_rounded_up() {
        assert_eq!([duration(0), duration(999), duration(1_990)], ["0", "999 µs", "1.9 ms"]);
        assert_eq!([duration(59_990_000), duration(7_300_000_000)], ["59.9 s", "2.0 h"]);
        assert_eq!(
            [money(12), money(1_999_999), money(1_234_567_890_000)],
            ["$0.000012", "$1.99", "$1\u{202f}234\u{202f}567.89"]
        );
    }
}
