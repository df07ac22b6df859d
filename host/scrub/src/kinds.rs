//! What is looked for, in the order in which it counts where two overlap: a key before the digits
//! in it. A pattern says what something looks like; a check, where there is one, whether it is
//! (Luhn for cards, ISO 7064 for IBANs, octets for addresses).

use std::ops::Range;

use regex::Regex;

/// A kind of what is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Kind {
    PrivateKey,
    ProviderKey,
    Token,
    Secret,
    Email,
    Iban,
    Card,
    Mac,
    Ip,
    Phone,
    HomePath,
    Host,
}

impl Kind {
    /// As placeholders and reports say it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::PrivateKey => "private-key",
            Kind::ProviderKey => "provider-key",
            Kind::Token => "token",
            Kind::Secret => "secret",
            Kind::Email => "email",
            Kind::Iban => "iban",
            Kind::Card => "card",
            Kind::Mac => "mac",
            Kind::Ip => "ip",
            Kind::Phone => "phone",
            Kind::HomePath => "home-path",
            Kind::Host => "host",
        }
    }
}

/// What was found, and where.
pub(crate) struct Found<'s> {
    pub kind: &'s str,
    pub range: Range<usize>,
}

/// A pattern with its check. Where the pattern has a group `v`, only that is what was found.
pub(crate) struct Rule {
    name: String,
    regex: Regex,
    check: fn(&str, &str, usize) -> bool,
}

impl Rule {
    /// A pattern of one's own.
    pub(crate) fn own(name: &str, regex: Regex) -> Rule {
        Rule { name: name.to_owned(), regex, check: |_, _, _| true }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.regex.captures_iter(text).filter_map(move |captures| {
            let found = captures.name("v").or_else(|| captures.get(0))?;
            (!found.is_empty() && (self.check)(found.as_str(), text, found.start())).then(|| found.range())
        })
    }
}

/// Names of members, variables and settings whose values are secrets.
const SECRET_NAMES: &str = r"(?:[a-z0-9]+[_.-])*(?:password|passwd|passphrase|pwd|secret|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|credentials?)";

const TOP_LEVEL: &str = "com|org|net|edu|gov|io|dev|ai|app|cloud|info|biz|co|de|uk|fr|nl|eu|us|ca|ch|at|it|es|se|no|dk|fi|pl|jp|cn|in|br|au|ru";

/// Every rule of ours.
pub(crate) fn all() -> Vec<Rule> {
    fn yes(_: &str, _: &str, _: usize) -> bool {
        true
    }
    type Check = fn(&str, &str, usize) -> bool;
    let host = format!(
        r"(?i)\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:internal|intranet|local|localdomain|corp|lan|home|{TOP_LEVEL})\b"
    );
    let assigned = format!(r#"(?i)\b{SECRET_NAMES}\b["'`]?\s*(?:=>|:=|=|:)\s*["'`]?(?P<v>[^\s"'`,;&}}\])<]{{4,}})"#);
    let rules: [(Kind, &str, Check); 16] = [
        (
            Kind::PrivateKey,
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
            yes,
        ),
        (
            Kind::ProviderKey,
            r"\b(?:sk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{30,})",
            yes,
        ),
        (Kind::Token, r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", yes),
        (Kind::Token, r"(?i)\b(?:bearer|basic|token)\s+(?P<v>[A-Za-z0-9._~+/=-]{16,})", has_digit_or_mixed),
        (Kind::Secret, r"://[^\s/:@]+:(?P<v>[^\s/@]+)@", yes),
        (Kind::Secret, &assigned, is_no_word_of_a_sentence),
        (Kind::Email, r"(?i)\b[a-z0-9][a-z0-9._%+-]*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}\b", yes),
        (Kind::Iban, r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", is_iban),
        (Kind::Card, r"\b\d(?:[ -]?\d){12,18}\b", is_card),
        (Kind::Mac, r"(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b", yes),
        (Kind::Ip, r"\b\d{1,3}(?:\.\d{1,3}){3}\b", is_ipv4),
        (Kind::Ip, r"(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}", is_ipv6),
        (Kind::Phone, r"\+\d[\d ().-]{6,18}\d", is_phone),
        (Kind::Phone, r"(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b", is_alone),
        (Kind::HomePath, r"(?:/home/|/Users/|(?i:[a-z]:\\Users\\))(?P<v>[A-Za-z0-9._-]+)", begins_a_path),
        (Kind::Host, &host, is_host),
    ];
    let rule = |(kind, pattern, check): (Kind, &str, Check)| {
        // The patterns are constants, and a test makes them.
        Regex::new(pattern).ok().map(|regex| Rule { name: kind.name().to_owned(), regex, check })
    };
    rules.into_iter().filter_map(rule).collect()
}

/// Whether only a secret stands under such a name.
pub(crate) fn names_a_secret(key: &str) -> bool {
    static NAMES: std::sync::LazyLock<Option<Regex>> =
        std::sync::LazyLock::new(|| Regex::new(&format!("(?i)^{SECRET_NAMES}$")).ok());
    NAMES.as_ref().is_some_and(|names| names.is_match(key))
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|one| one.to_digit(10)).collect()
}

/// The character before a place, and the one after what is there.
fn around(found: &str, text: &str, start: usize) -> (Option<char>, Option<char>) {
    (text[..start].chars().next_back(), text[start + found.len()..].chars().next())
}

fn is_alone(found: &str, text: &str, start: usize) -> bool {
    let (before, after) = around(found, text, start);
    let joins = |one: char| one.is_alphanumeric() || matches!(one, '.' | '-' | '_' | '/');
    !before.is_some_and(joins) && !after.is_some_and(|one| one.is_alphanumeric() || one == '-')
}

/// Luhn's sum (ISO/IEC 7812-1, annex B); not of a number that is one digit over and over.
fn is_card(found: &str, text: &str, start: usize) -> bool {
    let digits = digits(found);
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| if place % 2 == 1 { (digit * 2) / 10 + (digit * 2) % 10 } else { *digit })
        .sum();
    let varied = digits.iter().any(|digit| *digit != digits[0]);
    let (before, after) = around(found, text, start);
    let joined = |one: Option<char>| one.is_some_and(|one| one == '.' || one == '-' || one == '_');
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10) && varied && !joined(before) && after != Some('-')
}

/// The remainder by 97 of the number that letters and digits make (ISO 13616, ISO 7064).
fn is_iban(found: &str, _: &str, _: usize) -> bool {
    let plain: Vec<char> = found.chars().filter(|one| *one != ' ').collect();
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let turned = plain[4..].iter().chain(&plain[..4]);
    let remainder = turned.fold(0_u32, |rest, one| match one.to_digit(36) {
        Some(value) if value < 10 => (rest * 10 + value) % 97,
        Some(value) => (rest * 100 + value) % 97,
        None => 98,
    });
    remainder == 1
}

fn is_ipv4(found: &str, text: &str, start: usize) -> bool {
    let (before, after) = around(found, text, start);
    let octets =
        found.split('.').all(|octet| octet.parse::<u8>().is_ok() && (octet.len() == 1 || !octet.starts_with('0')));
    let rest = &text[start + found.len()..];
    // A version of four parts goes on, or says that it is one.
    let version = before.is_some_and(|one| one == 'v' || one == '.' || one == '-')
        || (after == Some('.') && rest[1..].starts_with(|one: char| one.is_ascii_digit()));
    octets && !version && !matches!(found, "0.0.0.0" | "127.0.0.1")
}

fn is_ipv6(found: &str, text: &str, start: usize) -> bool {
    let (before, after) = around(found, text, start);
    let joined = |one: Option<char>| one.is_some_and(|one| one.is_alphanumeric() || one == ':');
    found.parse::<std::net::Ipv6Addr>().is_ok_and(|address| !address.is_loopback() && !address.is_unspecified())
        && found.len() > 6
        && !joined(before)
        && !joined(after)
}

fn is_phone(found: &str, text: &str, start: usize) -> bool {
    let before = text[..start].chars().next_back();
    (8..=15).contains(&digits(found).len()) && !before.is_some_and(|one| one.is_alphanumeric())
}

/// `/home/ada` is somebody's folder, `path/to/home/file` is none.
fn begins_a_path(_: &str, text: &str, start: usize) -> bool {
    let before = &text[..start];
    let root = ["/home/", "/Users/"].iter().find_map(|root| before.strip_suffix(root)).unwrap_or_default();
    !root.ends_with(|one: char| one.is_alphanumeric() || matches!(one, '_' | '.' | '-'))
}

/// `token count` is a sentence; a token has digits, or letters of both cases.
fn has_digit_or_mixed(found: &str, _: &str, _: usize) -> bool {
    let mixed = found.chars().any(|one| one.is_ascii_uppercase()) && found.chars().any(|one| one.is_ascii_lowercase());
    found.chars().any(|one| one.is_ascii_digit()) || mixed
}

/// `password: required` says that there is one, and `password = None` that there is none.
fn is_no_word_of_a_sentence(found: &str, _: &str, _: usize) -> bool {
    let words = [
        "none",
        "null",
        "true",
        "false",
        "required",
        "optional",
        "string",
        "text",
        "undefined",
        "empty",
        "invalid",
        "missing",
        "expired",
        "incorrect",
        "wrong",
        "changed",
        "reset",
        "your",
        "the",
        "this",
        "must",
        "should",
        "please",
        "value",
        "unknown",
        "hidden",
        "redacted",
        "masked",
        "env",
        "process.env",
        "os.environ",
    ];
    let lower = found.to_ascii_lowercase();
    let word = lower.trim_end_matches(['.', '!', '?', '(', '[']);
    !words.contains(&word)
        && !lower.starts_with("os.environ")
        && !lower.starts_with("process.env")
        && !found.starts_with(['$', '<', '{', '*'])
}

/// A name of a file ends like a country's domain at times (`main.rs` does not, `lib.so` not, `a.in`
/// does); a host has more, or is one of a well-known kind.
fn is_host(found: &str, text: &str, start: usize) -> bool {
    let (before, after) = around(found, text, start);
    let joined = before
        .is_some_and(|one| matches!(one, '@' | '_' | '/' | '\\' | '.' | '-') && !text[..start].ends_with("://"))
        || after.is_some_and(|one| matches!(one, '_' | '(' | '@'));
    let last = found.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let labels = found.split('.').count();
    let short = last.len() == 2 && labels == 2 && !text[..start].ends_with("://");
    !joined && !short && found.chars().any(char::is_alphabetic)
}
