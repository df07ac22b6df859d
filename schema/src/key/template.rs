//! A text with holes, matched against whole texts.

use core::fmt;
use core::str::FromStr;

use auto_json::Record;

/// A text with named holes: `Order {order} is {state}.`; `{{` and `}}` are braces. A hole takes
/// as little as lets the rest fit, so there is one way to read a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    start: String,
    /// Each hole with what stands after it.
    holes: Vec<(String, String)>,
}

impl Template {
    /// A template of its parts: what stands before the first hole, then each hole with what
    /// stands after it. Refused where two holes touch, since nothing says where one ends.
    pub fn new(start: impl Into<String>, holes: Vec<(String, String)>) -> Result<Template, String> {
        if holes.is_empty() {
            return Err("a template needs a hole, such as {name}".into());
        }
        let (last, inner) = holes.split_at(holes.len() - 1);
        if let Some((name, _)) = last.iter().find(|(_, after)| after.is_empty()) {
            return Err(format!("nothing stands between the hole {{{name}}} and the next one"));
        }
        let mut names: Vec<&str> = last.iter().chain(inner).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the hole {{{}}} is there twice", twice[0]));
        }
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(format!("{{{name}}} is no hole: a name has letters, digits and _; write {{{{ for a brace"));
        }
        Ok(Template { start: start.into(), holes })
    }

    /// What a text has in the holes; none where it does not fit.
    pub fn of(&self, text: &str) -> Option<Record> {
        let mut rest = text.strip_prefix(self.start.as_str())?;
        let mut found = Record::new();
        for (number, (name, after)) in self.holes.iter().enumerate() {
            let last = number + 1 == self.holes.len();
            let end = match (last, after.as_str()) {
                (true, after) => rest.len().checked_sub(after.len()).filter(|_| rest.ends_with(after))?,
                (false, after) => rest.find(after)?,
            };
            found.set(name.as_str(), &rest[..end]);
            rest = &rest[end + after.len()..];
        }
        Some(found)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|one| one.is_alphanumeric() || one == '_')
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Template, String> {
        let (mut start, mut holes) = (None, Vec::<(String, String)>::new());
        let (mut literal, mut name) = (String::new(), None::<String>);
        let mut rest = text.chars().peekable();
        while let Some(one) = rest.next() {
            match (one, &mut name) {
                ('{' | '}', None) if rest.peek() == Some(&one) => literal.extend(rest.next()),
                ('{', None) => {
                    let before = core::mem::take(&mut literal);
                    match holes.last_mut() {
                        None => start = Some(before),
                        Some((_, after)) => *after = before,
                    }
                    name = Some(String::new());
                }
                ('}', Some(own)) => {
                    holes.push((core::mem::take(own), String::new()));
                    name = None;
                }
                ('}', None) => return Err("a brace is closed that was not opened; write }} for a brace".into()),
                (one, Some(own)) => own.push(one),
                (one, None) => literal.push(one),
            }
        }
        if name.is_some() {
            return Err("a hole is not closed; write {{ for a brace".into());
        }
        if let Some((_, after)) = holes.last_mut() {
            *after = literal;
        }
        Template::new(start.unwrap_or_default(), holes)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |text: &str| text.replace('{', "{{").replace('}', "}}");
        f.write_str(&escaped(&self.start))?;
        self.holes.iter().try_for_each(|(name, after)| write!(f, "{{{name}}}{}", escaped(after)))
    }
}
