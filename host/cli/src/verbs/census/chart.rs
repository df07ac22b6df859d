//! Charts for the page of a census: SVG, drawn from numbers, readable without colour.

use std::fmt::Write as _;

/// How wide bars can be, and how high one is.
const WIDTH: f64 = 460.0;
const BAR: f64 = 22.0;
const GAP: f64 = 10.0;
/// Where bars begin; labels are to the left.
const LEFT: f64 = 190.0;
/// Room for a number behind the longest bar.
const RIGHT: f64 = 190.0;

/// A bar: its label, its parts by the class that colours them, and what is said behind it.
pub struct Bar {
    pub label: String,
    pub parts: Vec<(&'static str, u64)>,
    pub said: String,
}

/// Bars, one under the other, on one scale.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.parts.iter().map(|(_, size)| size).sum::<u64>()).max().unwrap_or(0).max(1);
    let height = bars.len() as f64 * (BAR + GAP);
    let total = LEFT + WIDTH + RIGHT;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {total} {height}\" role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">\n",
        escaped(title)
    );
    for (row, bar) in bars.iter().enumerate() {
        let top = row as f64 * (BAR + GAP);
        let middle = top + BAR / 2.0;
        let _ = writeln!(
            svg,
            "<text class=\"label\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
            LEFT - 10.0,
            escaped(&clipped(&bar.label))
        );
        let mut left = LEFT;
        for (class, size) in &bar.parts {
            let width = *size as f64 / most as f64 * WIDTH;
            if *size > 0 {
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{class}: \
                     {size}</title></rect>",
                    width.max(1.0)
                );
            }
            left += width;
        }
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{middle:.1}\">{}</text>", left + 8.0, escaped(&bar.said));
    }
    svg + "</svg>\n"
}

/// A label that fits.
fn clipped(label: &str) -> String {
    match label.char_indices().nth(26) {
        Some((at, _)) => format!("{}…", &label[..at]),
        None => label.to_owned(),
    }
}

/// Text in HTML, also in attributes.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_on_one_scale_and_say_their_numbers() {
        let bar =
            |label: &str, parts: Vec<(&'static str, u64)>| Bar { label: label.into(), parts, said: "x < y".into() };
        let svg =
            bars("\"all\"", &[bar("a", vec![("fixed", 30), ("once", 10)]), bar("b", vec![("fixed", 20), ("once", 0)])]);
        assert!(svg.contains("aria-label=\"&quot;all&quot;\"") && svg.contains("x &lt; y"), "{svg}");
        // 30, 10 and 20 of 40; nothing is drawn for nothing.
        for width in ["345.0", "115.0", "230.0"] {
            assert!(svg.contains(&format!("width=\"{width}\"")), "{width}: {svg}");
        }
        assert_eq!(svg.matches("<rect").count(), 3);
    }
}
