//! Source files as what evolves. Between marks (or, in a file without marks, everywhere) they may be
//! changed, and nowhere else. What is built in knows no language: it moves numbers, leaves out
//! lines, and takes regions over; a teacher sends diffs.

use std::collections::BTreeMap;

use auto_search::Random;

/// Begins and ends what may be changed; each stands in a line of its own.
const MARKS: [&str; 2] = ["EVOLVE-START", "EVOLVE-END"];

/// Files by place.
pub type Files = BTreeMap<String, String>;

/// What a change of files has to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    /// The files that may be changed.
    pub editable: Vec<String>,
    /// Texts that have to stand in them: signatures, imports of what must not be rewritten.
    pub keep: Vec<String>,
    /// Texts that may not.
    pub banned: Vec<String>,
    /// The most bytes of all of them.
    pub most_bytes: usize,
}

impl Frozen {
    /// Whether `files` may be made of `base`. The code of a refusal and why.
    pub fn check(&self, base: &Files, files: &Files) -> Result<(), (&'static str, String)> {
        if let Some(path) = files.keys().find(|path| !base.contains_key(*path)) {
            return Err(("file-not-allowed", format!("{path} is no file of the base")));
        }
        for (path, before) in base {
            let Some(after) = files.get(path) else {
                return Err(("file-not-allowed", format!("{path} is gone")));
            };
            if before != after && !self.editable.contains(path) {
                return Err(("file-not-allowed", format!("{path} may not be changed")));
            }
            if outside(before) != outside(after) {
                return Err(("frozen-changed", format!("{path} is changed outside of its regions")));
            }
        }
        let bytes: usize = files.values().map(String::len).sum();
        if bytes > self.most_bytes {
            return Err(("too-large", format!("it has {bytes} bytes, and at most {} are allowed", self.most_bytes)));
        }
        let editable = || self.editable.iter().filter_map(|path| files.get(path));
        if let Some(lost) = self.keep.iter().find(|text| !editable().any(|file| file.contains(text.as_str()))) {
            return Err(("interface-changed", format!("{lost:?} has to stand in it")));
        }
        if let Some(found) = self.banned.iter().find(|text| editable().any(|file| file.contains(text.as_str()))) {
            return Err(("banned", format!("{found:?} may not stand in it")));
        }
        Ok(())
    }

    /// A number moved, or a line left out.
    pub fn change(&self, files: &Files, structural: bool, random: &mut Random) -> Option<Files> {
        let path = random.pick(&self.editable)?;
        let text = files.get(path)?;
        let changed = if structural { without_a_line(text, random)? } else { with_a_number_moved(text, random)? };
        let mut made = files.clone();
        made.insert(path.clone(), changed);
        Some(made)
    }

    /// Every region of the one or the other.
    pub fn mix(&self, one: &Files, other: &Files, random: &mut Random) -> Files {
        let mut made = one.clone();
        for path in &self.editable {
            let (Some(a), Some(b)) = (one.get(path), other.get(path)) else { continue };
            let (a, b) = (parts(a), parts(b));
            if a.len() != b.len() {
                continue;
            }
            let pick = |((editable, a), (_, b)): (&(bool, String), &(bool, String)), random: &mut Random| {
                if *editable && random.chance(500_000) { b.clone() } else { a.clone() }
            };
            made.insert(path.clone(), a.iter().zip(&b).map(|pair| pick(pair, random)).collect());
        }
        made
    }
}

/// A text in parts, each with whether it may be changed.
fn parts(text: &str) -> Vec<(bool, String)> {
    let marked = text.lines().any(|line| line.contains(MARKS[0]));
    if !marked {
        return vec![(true, text.to_owned())];
    }
    let (mut parts, mut inside): (Vec<(bool, String)>, bool) = (vec![(false, String::new())], false);
    for line in text.split_inclusive('\n') {
        if inside && line.contains(MARKS[1]) {
            inside = false;
            parts.push((false, String::new()));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
        if !inside && line.contains(MARKS[0]) {
            inside = true;
            parts.push((true, String::new()));
        }
    }
    parts
}

/// What may not be changed.
fn outside(text: &str) -> Vec<String> {
    parts(text).into_iter().filter(|(editable, _)| !editable).map(|(_, part)| part).collect()
}

/// Where numbers stand in what may be changed: begin and end.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    for (editable, part) in parts(text) {
        if editable {
            found.extend(numbers_of(&part).into_iter().map(|(from, to)| (at + from, at + to)));
        }
        at += part.len();
    }
    found
}

fn numbers_of(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' || bytes[at] == b'.';
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if !word(at) {
            at += 1;
            continue;
        }
        let from = at;
        while at < bytes.len() && word(at) {
            at += 1;
        }
        let token = &text[from..at];
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits(token) || token.split_once('.').is_some_and(|(whole, part)| digits(whole) && digits(part));
        if number && token.len() <= 12 {
            found.push((from, at));
        }
    }
    found
}

fn with_a_number_moved(text: &str, random: &mut Random) -> Option<String> {
    let (from, to) = *random.pick(&numbers(text))?;
    let token = &text[from..to];
    let places = token.split_once('.').map_or(0, |(_, part)| part.len());
    let now: i64 = token.replace('.', "").parse().ok()?;
    let next = match random.below(5) {
        0 => now + 1,
        1 => now - 1,
        2 => now * 2,
        3 => now / 2,
        _ => now + random.between(-(now / 4 + 2), now / 4 + 2),
    };
    let digits = format!("{:0>width$}", next.max(0), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    let shown = if places == 0 { whole.to_owned() } else { format!("{whole}.{part}") };
    Some(format!("{}{shown}{}", &text[..from], &text[to..])).filter(|made| made != text)
}

fn without_a_line(text: &str, random: &mut Random) -> Option<String> {
    let mut lines: Vec<(bool, String)> = Vec::new();
    for (editable, part) in parts(text) {
        lines.extend(part.split_inclusive('\n').map(|line| (editable, line.to_owned())));
    }
    let able: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].0 && !lines[*at].1.trim().is_empty()).collect();
    lines.remove(*random.pick(&able)?);
    Some(lines.into_iter().map(|(_, line)| line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "import os\nLIMIT = 5\n# EVOLVE-START\nweight = 0.25\nsteps = 10\n# EVOLVE-END\ndef run(x):\n    return 7\n";

    fn files(text: &str) -> Files {
        Files::from([("a.py".to_owned(), text.to_owned()), ("b.py".to_owned(), "FIXED = 1\n".to_owned())])
    }

    fn frozen() -> Frozen {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Frozen { editable: texts(&["a.py"]), keep: texts(&["def run(x):"]), banned: texts(&["eval("]), most_bytes: 400 }
    }

    #[test]
    fn changes_stay_in_their_regions() {
        let (frozen, base) = (frozen(), files(TEXT));
        let mut random = Random::of(4, "code");
        let mut texts = std::collections::BTreeSet::new();
        for round in 0..400 {
            let Some(made) = frozen.change(&base, round % 2 == 0, &mut random) else { continue };
            frozen.check(&base, &made).unwrap();
            let mixed = frozen.mix(&base, &made, &mut random);
            frozen.check(&base, &mixed).unwrap();
            assert!(mixed == base || mixed == made);
            texts.insert(made["a.py"].clone());
        }
        assert!(texts.len() > 8, "{texts:?}");
        assert!(texts.iter().all(|text| text.contains("LIMIT = 5") && text.contains("return 7")));
        assert!(texts.iter().any(|text| text.contains("weight = 0.26")), "{texts:?}");
    }

    #[test]
    fn what_a_change_may_not_do_has_a_code() {
        let (frozen, base) = (frozen(), files(TEXT));
        let code = |made: Files| frozen.check(&base, &made).unwrap_err().0;
        let with = |from: &str, to: &str| files(&TEXT.replace(from, to));
        assert_eq!(code(with("LIMIT = 5", "LIMIT = 6")), "frozen-changed");
        assert_eq!(code(with("# EVOLVE-END\n", "")), "frozen-changed");
        assert_eq!(code(with("steps = 10", "steps = eval('1')")), "banned");
        assert_eq!(code(with("steps = 10", &"# ".repeat(200))), "too-large");
        let mut more = base.clone();
        more.insert("c.py".to_owned(), String::new());
        assert_eq!(code(more), "file-not-allowed");
        let mut other = base.clone();
        other.insert("b.py".to_owned(), "FIXED = 2\n".to_owned());
        assert_eq!(code(other), "file-not-allowed");
        let open = Frozen { keep: vec!["def gone".to_owned()], ..frozen.clone() };
        assert_eq!(open.check(&base, &base).unwrap_err().0, "interface-changed");
    }
}
