//! The stream as a picture.

use super::tiers::{By, Item};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 40.0;

/// Calls of the model and wrong answers up to each input, beside a cache's calls.
pub fn svg(items: &[Item]) -> String {
    let (mut calls, mut wrong, mut cache) = (vec![0usize], vec![0usize], vec![0usize]);
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        let next = |line: &[usize], more: bool| line[line.len() - 1] + usize::from(more);
        calls.push(next(&calls, item.by == By::Model));
        wrong.push(next(&wrong, item.by != By::Model && item.answer != item.expected));
        let new = !seen.contains(&item.input.as_str());
        cache.push(next(&cache, new));
        if new {
            seen.push(&item.input);
        }
    }
    let most = [&calls, &wrong, &cache].iter().filter_map(|line| line.last()).max().copied().unwrap_or(1).max(1);
    let place = |at: usize, value: usize| {
        let x = LEFT + (WIDTH - LEFT - 10.0) * at as f64 / items.len().max(1) as f64;
        let y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 20.0) * value as f64 / most as f64;
        (x, y)
    };
    let path = |line: &[usize], colour: &str, dashes: &str| {
        let points: Vec<String> = line
            .iter()
            .enumerate()
            .map(|(at, value)| place(at, *value))
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\" points=\"{}\"/>\n",
            points.join(" ")
        )
    };
    let text = |x: f64, y: f64, text: &str| format!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"13\">{text}</text>\n");
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\">\n\
         <title>Calls of the model and wrong answers over the stream</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let (x0, y0) = place(0, 0);
    let (x1, _) = place(items.len(), 0);
    svg.push_str(&format!("<path d=\"M{x0:.1} 20V{y0:.1}H{x1:.1}\" fill=\"none\" stroke=\"#444\"/>\n"));
    svg.push_str(&path(&cache, "#888", "6 4"));
    svg.push_str(&path(&calls, "#b36b00", ""));
    svg.push_str(&path(&wrong, "#b3261e", ""));
    for (at, (name, line)) in
        [("cache, calls", &cache), ("calls", &calls), ("wrong answers", &wrong)].iter().enumerate()
    {
        let colour = ["#888", "#b36b00", "#b3261e"][at];
        let y = 36.0 + 18.0 * at as f64;
        svg.push_str(&format!("<path d=\"M70 {:.1}h24\" stroke=\"{colour}\" stroke-width=\"2\"/>\n", y - 4.0));
        svg.push_str(&text(100.0, y, &format!("{name}: {}", line.last().copied().unwrap_or(0))));
    }
    svg.push_str(&text(x0, HEIGHT - 12.0, "0"));
    svg.push_str(&text(x1 - 90.0, HEIGHT - 12.0, &format!("{} inputs", items.len())));
    svg.push_str(&text(14.0, 26.0, &most.to_string()));
    svg + "</svg>\n"
}
