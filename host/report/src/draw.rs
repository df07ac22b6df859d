//! Figures that code draws of the run's files: SVG with integers in it, the same bytes everywhere.

use std::fmt::Write as _;

use auto_json::Value;

use crate::corpus::Corpus;
use crate::exact::Exact;

/// A figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The name of its file, without an ending.
    pub name: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// The drawing.
    pub svg: String,
}

const WIDTH: i64 = 760;
const LEFT: i64 = 190;
const RIGHT: i64 = 150;
const GREY: &str = "#767676";
const GREEN: &str = "#1a7f4b";

/// The figures of a run.
pub fn figures(corpus: &Corpus) -> Vec<Figure> {
    [scores(corpus), progress(corpus)].into_iter().flatten().collect()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> Option<i64> {
    value.get(key).and_then(Value::as_i64)
}

/// What a file of XML may have in a text.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in auto_schema::shown(text).chars() {
        match one {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            one => out.push(one),
        }
    }
    out
}

fn svg(height: i64, label: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#222\">\n{body}</svg>\n"
    )
}

/// A place between two edges, in tenths of a pixel: exact, and so the same everywhere.
fn place(value: i64, (least, most): (i64, i64), (from, to): (i64, i64)) -> String {
    let span = i128::from(most - least).max(1);
    let tenths =
        i128::from(from) * 10 + i128::from(to - from) * 10 * i128::from(value.clamp(least, most) - least) / span;
    format!("{}.{}", tenths / 10, (tenths % 10).abs())
}

/// Before and after, each a dot with its interval.
fn scores(corpus: &Corpus) -> Option<Figure> {
    let scores = list(corpus.report(), "scores");
    let sides = || scores.iter().flat_map(|score| [score.get("before"), score.get("after")]).flatten();
    let ends = |side: &Value| [number(side, "mean"), number(side, "low"), number(side, "high")];
    let all: Vec<i64> = sides().flat_map(ends).flatten().collect();
    let (least, most) = (*all.iter().min()?, *all.iter().max()?);
    let margin = ((most - least) / 20).max(1);
    let scale = (least - margin, most + margin);
    let mut body = String::new();
    let mut y = 24;
    for score in scores {
        let part = |key: &str| score.get(key).and_then(Value::as_text).unwrap_or_default();
        let name = if part("stratum") == "all" {
            part("metric").to_owned()
        } else {
            format!("{}, {}", part("metric"), part("stratum"))
        };
        let _ =
            writeln!(body, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", LEFT - 12, y + 14, escaped(&name));
        for (side, color) in [("before", GREY), ("after", GREEN)] {
            if let Some(found) = score.get(side) {
                dot(&mut body, found, corpus.name(side).unwrap_or(side), y, color, scale);
            }
            y += 20;
        }
        y += 14;
    }
    for (at, value) in [(LEFT, scale.0), (WIDTH - RIGHT, scale.1)] {
        let _ = writeln!(
            body,
            "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\" fill=\"{GREY}\">{}</text>",
            y + 6,
            Exact::micros(value).shown(3)
        );
    }
    let caption = "What was measured: before (grey) and after (green), each with its interval where there is one.";
    Some(Figure { name: "scores", caption, svg: svg(y + 18, "scores before and after", &body) })
}

fn dot(body: &mut String, side: &Value, name: &str, y: i64, color: &str, scale: (i64, i64)) {
    let Some(mean) = number(side, "mean") else { return };
    let x = |value: i64| place(value, scale, (LEFT, WIDTH - RIGHT));
    let (low, high) = (number(side, "low").unwrap_or(mean), number(side, "high").unwrap_or(mean));
    let _ = writeln!(
        body,
        "<line x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{color}\" stroke-width=\"3\"/>\
         <circle cx=\"{}\" cy=\"{y}\" r=\"5\" fill=\"{color}\"/>\
         <text x=\"{}\" y=\"{}\">{} {}</text>",
        x(low),
        x(high),
        x(mean),
        WIDTH - RIGHT + 10,
        y + 4,
        escaped(name),
        Exact::micros(mean).shown(4)
    );
}

/// What counted after each generation, and the best that was tried in it.
fn progress(corpus: &Corpus) -> Option<Figure> {
    let rows = list(corpus.report(), "generations");
    let point =
        |row: &Value| Some((number(row, "generation")?, number(row, "incumbent_micros")?, number(row, "best_micros")));
    let points: Vec<(i64, i64, Option<i64>)> = rows.iter().filter_map(point).collect();
    let last = points.iter().map(|point| point.0).max()?;
    let first = list(corpus.report(), "individuals").first().and_then(|own| number(own, "score_micros"));
    let points: Vec<_> = first.map(|score| (0, score, None)).into_iter().chain(points).collect();
    let all = || points.iter().flat_map(|(_, counted, best)| [Some(*counted), *best]).flatten();
    let (least, most) = (all().min()?, all().max()?);
    let margin = ((most - least) / 20).max(1);
    let (scale, height) = ((least - margin, most + margin), 240);
    let x = |generation: i64| place(generation, (0, last), (70, WIDTH - 20));
    let y = |micros: i64| place(-micros, (-scale.1, -scale.0), (16, height - 40));
    let mut body = String::new();
    for at in 0..=4 {
        let micros = scale.0 + (scale.1 - scale.0) / 4 * at;
        let _ = writeln!(
            body,
            "<line x1=\"70\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#ddd\"/><text x=\"62\" y=\"{y}\" dy=\"4\" text-anchor=\"end\" fill=\"{GREY}\">{}</text>",
            WIDTH - 20,
            Exact::micros(micros).shown(3),
            y = y(micros)
        );
    }
    let mut line = String::new();
    let mut before = None;
    for (generation, counted, _) in &points {
        // What counted stays until something else does.
        if let Some(before) = before {
            let _ = write!(line, "{},{} ", x(*generation), y(before));
        }
        let _ = write!(line, "{},{} ", x(*generation), y(*counted));
        before = Some(*counted);
    }
    let _ = writeln!(
        body,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{GREEN}\" stroke-width=\"2.5\"/>",
        line.trim_end()
    );
    for (generation, _, best) in &points {
        if let Some(best) = best {
            let _ = writeln!(body, "<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{GREY}\"/>", x(*generation), y(*best));
        }
    }
    let step = (last / 10).max(1);
    for generation in (0..=last / step).map(|at| at * step) {
        let _ = writeln!(
            body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{GREY}\">{generation}</text>",
            x(generation),
            height - 16
        );
    }
    let caption =
        "The fitness of what counted after each generation (line), and of the best that was tried in it (dots).";
    Some(Figure { name: "progress", caption, svg: svg(height, "fitness by generation", &body) })
}
