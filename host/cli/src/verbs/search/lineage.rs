//! What a page shows of an evolution: who came from whom, on which island, how fit, and what it cost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use auto_json::Value;
use auto_schema::shown;

use super::show::usd;
use crate::verbs::census::escaped;

/// How wide a drawing is.
const WIDTH: f64 = 840.0;
/// What is left of its scale.
const LEFT: f64 = 64.0;
/// How far two of one generation are apart.
const ROW: f64 = 13.0;
/// How high the curve of fitness is.
const HEIGHT: f64 = 220.0;

/// The sections of an evolution; nothing of another search.
pub fn sections(report: &Value) -> Vec<(&'static str, String)> {
    let all = list(report, "individuals");
    if all.is_empty() {
        return Vec::new();
    }
    vec![
        ("Lineage", tree(report, all)),
        ("Fitness", fitness(report, all)),
        ("Islands", islands(report)),
        ("Archive", archive(report, all)),
        ("Spend", spend(report)),
        ("Confirmed", checks(report)),
        ("Individuals", table(all)),
    ]
}

fn list<'r>(report: &'r Value, key: &str) -> &'r [Value] {
    report.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or(0)
}

fn share(micros: i64) -> String {
    format!("{:.4}", micros as f64 / 1e6)
}

/// Those that led to the best one.
fn ancestry<'v>(all: &'v [Value], best: &str) -> BTreeSet<&'v str> {
    let by: BTreeMap<&str, &Value> = all.iter().map(|own| (text(own, "id"), own)).collect();
    let (mut line, mut open) = (BTreeSet::new(), Vec::from_iter(by.get_key_value(best).map(|(id, _)| *id)));
    while let Some(id) = open.pop() {
        if line.insert(id) {
            let parents = by.get(id).map(|own| list(own, "parents")).unwrap_or_default();
            open.extend(parents.iter().filter_map(Value::as_text));
        }
    }
    line
}

/// One dot for each, generations from left to right, islands one below the other.
fn tree(report: &Value, all: &[Value]) -> String {
    let generations = all.iter().map(|own| number(own, "generation")).max().unwrap_or(0).max(1);
    let islands = all.iter().map(|own| number(own, "island")).max().unwrap_or(0) + 1;
    let mut counts = BTreeMap::<(i64, i64), usize>::new();
    let mut most = 1;
    let mut places = BTreeMap::new();
    for own in all {
        let key = (number(own, "generation"), number(own, "island"));
        let at = counts.entry(key).or_default();
        places.insert(text(own, "id"), (key, *at));
        *at += 1;
        most = most.max(*at);
    }
    let band = most as f64 * ROW + 18.0;
    let height = islands as f64 * band + 30.0;
    let place = |id: &str| {
        let ((generation, island), at) = places.get(id)?;
        let x = LEFT + *generation as f64 * (WIDTH - LEFT - 16.0) / generations as f64;
        Some((x, *island as f64 * band + *at as f64 * ROW + 16.0))
    };
    let line = ancestry(all, text(report, "best"));
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"lineage\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    for island in 0..islands {
        let top = island as f64 * band;
        let _ = writeln!(
            svg,
            "<rect class=\"island\" x=\"0\" y=\"{:.1}\" width=\"{WIDTH}\" height=\"{:.1}\"/>\
             <text class=\"tick\" x=\"30\" y=\"{:.1}\">island {island}</text>",
            top + 2.0,
            band - 6.0,
            top + band / 2.0
        );
    }
    let (mut edges, mut dots) = (String::new(), String::new());
    for own in all {
        let id = text(own, "id");
        let Some((x, y)) = place(id) else { continue };
        for parent in list(own, "parents").iter().filter_map(Value::as_text) {
            let Some((from, above)) = place(parent) else { continue };
            let class = if line.contains(id) && line.contains(parent) { "line" } else { "edge" };
            let _ = writeln!(
                edges,
                "<path class=\"{class}\" d=\"M{from:.1} {above:.1}C{:.1} {above:.1} {:.1} {y:.1} {x:.1} {y:.1}\"/>",
                (from + x) / 2.0,
                (from + x) / 2.0
            );
        }
        let status = text(own, "status");
        let score = own.get("score_micros").and_then(Value::as_i64).map(share).unwrap_or_default();
        let title = format!("{id} {} {status} {score} {}", text(own, "operator"), text(own, "reason"));
        let radius = if id == text(report, "best") {
            6.0
        } else if line.contains(id) {
            4.5
        } else {
            3.2
        };
        let _ = writeln!(
            dots,
            "<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}</title></circle>",
            escaped(&shown(status)),
            escaped(&shown(title.trim()))
        );
    }
    svg.push_str(&edges);
    svg.push_str(&dots);
    for generation in ticks(generations) {
        let x = LEFT + generation as f64 * (WIDTH - LEFT - 16.0) / generations as f64;
        let _ = writeln!(svg, "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\">{generation}</text>", height - 8.0);
    }
    let kinds = ["valid", "dropped", "invalid", "refused", "quarantined"];
    let key: String = kinds
        .iter()
        .map(|kind| {
            let count = all.iter().filter(|own| text(own, "status") == *kind).count();
            format!("<span class=\"key {kind}\"></span>{kind} {count} ")
        })
        .collect();
    format!(
        "{svg}</svg>\n<p>{key}</p>\n<p>Generations from left to right; the bold line led to {}.</p>\n",
        escaped(&shown(text(report, "best")))
    )
}

/// At most ten of so many.
fn ticks(most: i64) -> Vec<i64> {
    let step = (most / 10).max(1);
    (0..=most / step).map(|at| at * step).collect()
}

/// What counted after each generation with its interval, and the best that was tried in it.
fn fitness(report: &Value, all: &[Value]) -> String {
    let by: BTreeMap<&str, &Value> = all.iter().map(|own| (text(own, "id"), own)).collect();
    let rows = list(report, "generations");
    let point = |generation: i64, own: &Value, best: Option<i64>| {
        let mid = number(own, "score_micros");
        let side = |key: &str| own.get(key).and_then(Value::as_i64).unwrap_or(mid);
        (generation, mid, side("low_micros"), side("high_micros"), best)
    };
    let first = all.first().filter(|_| !rows.is_empty()).map(|own| point(0, own, None));
    let later = rows.iter().filter_map(|row| {
        let best = row.get("best_micros").and_then(Value::as_i64);
        Some(point(number(row, "generation"), by.get(text(row, "incumbent"))?, best))
    });
    let points: Vec<(i64, i64, i64, i64, Option<i64>)> = first.into_iter().chain(later).collect();
    let Some(last) = points.iter().map(|point| point.0).max() else { return String::new() };
    let low = points
        .iter()
        .map(|point| point.2.min(point.4.unwrap_or(point.2)).max(point.2 - (point.3 - point.2) * 6))
        .min()
        .unwrap_or(0);
    let high = points.iter().map(|point| point.3).max().unwrap_or(1).max(low + 1);
    let x = |generation: i64| LEFT + generation as f64 * (WIDTH - LEFT - 16.0) / last.max(1) as f64;
    let y = |micros: i64| {
        let at = (micros.clamp(low, high) - low) as f64 / (high - low) as f64;
        HEIGHT - 28.0 - at * (HEIGHT - 44.0)
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"fitness by generation\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    for at in 0..=4 {
        let micros = low + (high - low) * at / 4;
        let _ = writeln!(
            svg,
            "<line class=\"rule\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"30\" y=\"{:.1}\">{}</text>",
            WIDTH - 16.0,
            y(micros) + 4.0,
            share(micros),
            y = y(micros)
        );
    }
    let upper = points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.3)));
    let lower = points.iter().rev().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.2)));
    let band: Vec<String> = upper.chain(lower).collect();
    let curve: Vec<String> = points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
    let _ = writeln!(svg, "<polygon class=\"band\" points=\"{}\"/>", band.join(" "));
    let _ = writeln!(svg, "<polyline class=\"line\" points=\"{}\"/>", curve.join(" "));
    for (generation, _, _, _, best) in &points {
        let Some(best) = best else { continue };
        let _ = writeln!(
            svg,
            "<circle class=\"tried\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>best of generation {generation}: {}</title></circle>",
            x(*generation),
            y(*best),
            share(*best)
        );
    }
    for generation in ticks(last) {
        let _ = writeln!(
            svg,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{generation}</text>",
            x(generation),
            HEIGHT - 8.0
        );
    }
    svg + "</svg>\n<p>The line is what counted after each generation, the band its 95% interval; a dot is the best that \
           the generation tried, above the line where it did not hold up.</p>\n"
}

fn islands(report: &Value) -> String {
    let mut html = "<div class=\"wide\"><table><tr><th>island</th><th>who lives there</th><th>who came</th><th>begun \
         anew</th></tr>\n"
        .to_owned();
    for island in list(report, "islands") {
        let names = |key: &str| list(island, key).iter().filter_map(Value::as_text).collect::<Vec<_>>().join(" ");
        let arrived = list(island, "arrived").iter().map(|one| {
            format!("{} from {} in generation {}", text(one, "id"), number(one, "from"), number(one, "generation"))
        });
        let restarts = list(island, "restarts").iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{restarts}</td></tr>",
            number(island, "island"),
            escaped(&shown(&names("members"))),
            escaped(&shown(&arrived.collect::<Vec<_>>().join("; ")))
        );
    }
    html + "</table></div>\n"
}

/// The best of each size and distance from the baseline.
fn archive(report: &Value, all: &[Value]) -> String {
    let cells = list(report, "archive");
    let sizes: BTreeSet<i64> = cells.iter().map(|cell| number(cell, "size")).collect();
    let far = cells.iter().map(|cell| number(cell, "distance")).max().unwrap_or(0);
    let best = all.iter().filter_map(|own| own.get("score_micros")?.as_i64()).max().unwrap_or(1);
    let least = cells.iter().map(|cell| number(cell, "score_micros")).min().unwrap_or(0);
    let mut html = "<div class=\"wide\"><table class=\"archive\"><tr><th></th>".to_owned();
    (0..=far).for_each(|at| {
        let _ = write!(html, "<th>{}%</th>", at * 10);
    });
    html.push_str("</tr>\n");
    for size in sizes {
        let _ =
            write!(html, "<tr><th>{} to {} bytes</th>", 1_u64 << size.clamp(0, 62), (2_u64 << size.clamp(0, 61)) - 1);
        for distance in 0..=far {
            let own = cells.iter().find(|cell| number(cell, "size") == size && number(cell, "distance") == distance);
            let cell = own.map_or_else(
                || "<td></td>".to_owned(),
                |cell| {
                    let score = number(cell, "score_micros");
                    let shade = (score - least) * 60 / (best - least).max(1) + 8;
                    format!(
                        "<td style=\"background:color-mix(in srgb,var(--fixed) {shade}%,transparent)\">{} {}</td>",
                        escaped(&shown(text(cell, "id"))),
                        share(score)
                    )
                },
            );
            html.push_str(&cell);
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div>\n<p>The best of each kind, by its size and by how much of it the baseline has not.</p>\n"
}

fn spend(report: &Value) -> String {
    let Some(budget) = report.get("budget") else { return String::new() };
    let rows = list(report, "generations");
    let most = number(budget, "max_jobs").max(1);
    let height = 90.0;
    let last = rows.len().max(1);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"jobs by generation\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    let step = (WIDTH - LEFT - 16.0) / last as f64;
    for (at, row) in rows.iter().enumerate() {
        let tall = number(row, "jobs") as f64 / most as f64 * (height - 26.0);
        let _ = writeln!(
            svg,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"><title>generation {}: {} jobs, {}</title></rect>",
            LEFT + at as f64 * step,
            height - 16.0 - tall,
            (step - 2.0).max(1.0),
            number(row, "generation"),
            number(row, "jobs"),
            usd(number(row, "spent_micro_usd").unsigned_abs())
        );
    }
    let (jobs, spent, may) =
        (number(budget, "jobs"), number(budget, "spent_micro_usd"), number(budget, "max_spend_micro_usd"));
    let teacher = usd(number(report, "teacher_micro_usd").unsigned_abs());
    format!(
        "{svg}<line class=\"rule\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"10\" y2=\"10\"/><text class=\"tick\" x=\"30\" y=\"14\">{most}</text></svg>\n\
         <p>{jobs} of {most} jobs; {} of at most {}, {teacher} of it for the teacher.</p>\n",
        WIDTH - 16.0,
        usd(spent.unsigned_abs()),
        usd(may.unsigned_abs())
    )
}

fn checks(report: &Value) -> String {
    let rows = list(report, "confirm");
    if rows.is_empty() {
        return String::new();
    }
    let row = |check: &Value| {
        let held = if check.get("ok").and_then(Value::as_bool) == Some(true) { "held" } else { "failed" };
        format!(
            "<li>{} {held}: {}</li>\n",
            escaped(&shown(text(check, "name"))),
            escaped(&shown(text(check, "detail")))
        )
    };
    format!("<ul>\n{}</ul>\n", rows.iter().map(row).collect::<String>())
}

fn table(all: &[Value]) -> String {
    let mut html =
        "<details><summary>All of them</summary><div class=\"wide\"><table><tr><th>id</th><th>parents</th><th>how\
         </th><th>by</th><th>status</th><th>score</th><th>why</th><th>tracker</th></tr>\n"
            .to_owned();
    for own in all {
        let parents = list(own, "parents").iter().filter_map(Value::as_text).collect::<Vec<_>>().join(" ");
        let trackers: BTreeSet<&str> =
            list(own, "runs").iter().filter_map(|run| run.get("tracker")?.as_text()).collect();
        let cells = [
            text(own, "id").to_owned(),
            parents,
            format!("{}, {}", text(own, "operator"), text(own, "idea")),
            text(own, "by").to_owned(),
            text(own, "status").to_owned(),
            own.get("score_micros").and_then(Value::as_i64).map(share).unwrap_or_default(),
            text(own, "reason").to_owned(),
            Vec::from_iter(trackers).join(" "),
        ];
        html.push_str("<tr>");
        for cell in cells {
            let _ = write!(html, "<td>{}</td>", escaped(&shown(&cell)));
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div></details>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"best":"i0002","budget":{"max_jobs":10,"jobs":4},
        "generations":[{"generation":1,"incumbent":"i0002","incumbent_micros":800000,"best_micros":900000,"jobs":4}],
        "islands":[{"island":0,"members":["i0002"],"arrived":[{"id":"i0001","from":1,"generation":1}],"restarts":[1]}],
        "archive":[{"size":4,"distance":2,"id":"i0002","score_micros":800000}],
        "individuals":[{"id":"i0000","parents":[],"generation":0,"island":0,"status":"valid","operator":"baseline"},
            {"id":"i0001","parents":["i0000"],"generation":1,"island":1,"status":"quarantined","operator":"mutation","reason":"<script>"},
            {"id":"i0002","parents":["i0000"],"generation":1,"island":0,"status":"valid","operator":"mutation",
             "score_micros":800000,"low_micros":700000,"high_micros":900000}]}"#;

    #[test]
    fn an_evolution_is_drawn_and_what_somebody_wrote_is_never_markup() {
        let sections = sections(&Value::parse(REPORT).unwrap());
        let html: String = sections.iter().map(|(_, body)| body.as_str()).collect();
        assert!(!html.contains("<script>"), "{html}");
        assert_eq!(html.matches("class=\"line\" d=").count(), 1, "one edge led to the best: {html}");
        assert_eq!(html.matches("class=\"edge\"").count(), 1);
        assert!(html.contains("quarantined 1") && html.contains("i0001 from 1 in generation 1"), "{html}");
        assert!(html.contains("4 of 10 jobs") && html.contains("16 to 31 bytes"), "{html}");
    }

    #[test]
    fn other_searches_have_none_of_it() {
        assert!(sections(&Value::parse("{\"timeline\":[]}").unwrap()).is_empty());
    }
}
