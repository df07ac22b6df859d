//! Who asks, and what they may: bearer tokens with their artifacts, tools and money.

use std::collections::BTreeSet;
use std::path::Path;

use auto_schema::digest::Digest;
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

use crate::http::{Hidden, Problem, presented};

/// The fewest bytes of a token: fewer can be guessed.
const SHORTEST: usize = 16;

/// The most bytes of a token file.
const LARGEST: u64 = 16 << 20;

/// Somebody who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The token's name, which metrics and ledgers show; empty where there are no tokens.
    pub name: String,
    /// The artifacts that may be asked, by name; none means all.
    pub artifacts: Option<BTreeSet<String>>,
    /// The capabilities that an artifact may use for this caller; none means all.
    pub tools: Option<BTreeSet<String>>,
    /// The most tool calls for one input, where less than the server's.
    pub max_tool_calls: Option<u32>,
    /// The most that may be spent for this caller, in micro-USD, where there are tokens.
    pub spend_cap: Option<u64>,
    /// Whether metrics, traffic and artifacts may be seen.
    pub operator: bool,
}

impl Caller {
    /// The only one where there are no tokens.
    pub fn anybody() -> Caller {
        Caller { operator: true, ..Caller::default() }
    }

    /// Whether an artifact of that name may be asked.
    pub fn may_ask(&self, name: &str) -> bool {
        self.artifacts.as_ref().is_none_or(|names| names.contains(name))
    }

    /// The first capability of these that this caller may not use.
    pub fn lacks<'c>(&self, capabilities: &'c [String]) -> Option<&'c str> {
        let tools = self.tools.as_ref()?;
        capabilities.iter().map(String::as_str).find(|capability| !tools.contains(*capability))
    }
}

/// Everybody who may ask.
pub struct Callers {
    known: Vec<(Hidden, Caller)>,
    anybody: Option<Caller>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    token: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    secret: Option<String>,
    sha256: Option<String>,
    artifacts: Option<BTreeSet<String>>,
    #[serde(default)]
    tools: BTreeSet<String>,
    max_tool_calls: Option<u32>,
    spend_cap_micro_usd: Option<u64>,
    #[serde(default)]
    operator: bool,
}

/// Why a token file is not used: a sentence.
pub type BadTokens = String;

impl Callers {
    /// Whoever reaches the server may ask.
    pub fn anybody() -> Callers {
        Callers { known: Vec::new(), anybody: Some(Caller::anybody()) }
    }

    /// Those of a token file's text.
    pub fn parse(text: &str) -> Result<Callers, BadTokens> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut known: Vec<(Hidden, Caller)> = Vec::new();
        for entry in file.token {
            let name = entry.name.clone();
            let hidden = entry.hidden().map_err(|why| format!("the token {name:?}: {why}"))?;
            if known.iter().any(|(other, caller)| *other == hidden || caller.name == name) {
                return Err(format!("the token {name:?} is there twice, by its name or by its secret"));
            }
            known.push((hidden, entry.caller()));
        }
        if known.is_empty() { Err("there is no token in it".to_owned()) } else { Ok(Callers { known, anybody: None }) }
    }

    /// Those of a token file that nobody else can read.
    pub fn read(path: &Path) -> Result<Callers, BadTokens> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_err(|error| error.to_string())?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(format!("others may read or write it (mode {:o}): chmod 600", mode & 0o777));
        }
        Callers::parse(&auto_files::regular::text(path, LARGEST).map_err(|error| error.to_string())?)
    }

    /// Whether nobody needs a token.
    pub fn is_open(&self) -> bool {
        self.anybody.is_some()
    }

    /// Who sends a request. Problems: `no-token`, `bad-token`.
    pub fn of(&self, headers: &HeaderMap) -> Result<&Caller, Problem> {
        if let Some(anybody) = &self.anybody {
            return Ok(anybody);
        }
        let refused = |code: &'static str, message: &str| {
            Problem::new(StatusCode::UNAUTHORIZED, code, message).help("send `Authorization: Bearer TOKEN`")
        };
        if !headers.contains_key(header::AUTHORIZATION) {
            return Err(refused("no-token", "this server answers only who has a token"));
        }
        let found = presented(headers)
            .and_then(|token| Hidden::find(token, self.known.iter().map(|(hidden, caller)| (hidden, caller))));
        found.ok_or_else(|| refused("bad-token", "this is none of the server's tokens"))
    }
}

impl Entry {
    fn hidden(&self) -> Result<Hidden, &'static str> {
        if self.name.is_empty() {
            return Err("it has no name");
        }
        match (&self.secret, &self.sha256) {
            (Some(secret), None) if secret.len() < SHORTEST => Err("its secret has fewer than 16 bytes"),
            (Some(secret), None) => Ok(Hidden::of(secret)),
            (None, Some(digest)) => {
                Digest::parse(digest).map(Hidden::hashed).ok_or("its sha256 is not 64 hexadecimal digits")
            }
            _ => Err("it has to have either `secret` or `sha256`"),
        }
    }

    fn caller(self) -> Caller {
        Caller {
            name: self.name,
            artifacts: self.artifacts,
            tools: Some(self.tools.into_iter().map(capability).collect()),
            max_tool_calls: self.max_tool_calls,
            // With tokens, nobody spends what nobody gave them.
            spend_cap: Some(self.spend_cap_micro_usd.unwrap_or(0)),
            operator: self.operator,
        }
    }
}

/// `NAME` is short for `tool:NAME`.
fn capability(name: String) -> String {
    if name.contains(':') { name } else { format!("tool:{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
[[token]]
name = "team"
secret = "team-0123456789abcdef"
artifacts = ["triage"]
tools = ["look-up", "model:gpt"]
max_tool_calls = 3
spend_cap_micro_usd = 500000
[[token]]
name = "ops"
sha256 = "61c1c5b3d1d5ca1c5ac0a5d6f3d0d51e61c1c5b3d1d5ca1c5ac0a5d6f3d0d51e"
operator = true
"#;

    #[test]
    fn a_token_says_who_asks_and_what_they_may() {
        let callers = Callers::parse(FILE).unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(callers.of(&headers).unwrap_err().code, "no-token");
        headers.insert(header::AUTHORIZATION, "Bearer team-0123456789abcdeX".parse().unwrap());
        assert_eq!(callers.of(&headers).unwrap_err().code, "bad-token");
        headers.insert(header::AUTHORIZATION, "Bearer team-0123456789abcdef".parse().unwrap());
        let team = callers.of(&headers).unwrap();
        assert_eq!((team.name.as_str(), team.operator, team.spend_cap), ("team", false, Some(500_000)));
        assert!(team.may_ask("triage") && !team.may_ask("other"));
        let asked = ["tool:look-up", "model:gpt", "tool:pay"].map(str::to_owned);
        assert_eq!((team.lacks(&asked[..2]), team.lacks(&asked)), (None, Some("tool:pay")));
        assert_eq!(Callers::anybody().of(&HeaderMap::new()).unwrap(), &Caller::anybody());
    }

    #[test]
    fn a_token_file_that_is_not_understood_is_refused() {
        let team = FILE.split("[[token]]").nth(1).unwrap();
        for (text, why) in [
            (String::new(), "missing field"),
            (FILE.replace("operator", "admin"), "unknown field"),
            (FILE.replace("team-0123456789abcdef", "short"), "16 bytes"),
            (FILE.replace("61c1", "xx"), "64 hexadecimal"),
            (format!("[[token]]{team}[[token]]{team}"), "twice"),
            (FILE.replace("secret = \"team-0123456789abcdef\"", ""), "either"),
        ] {
            let said = Callers::parse(&text).err().unwrap_or_default();
            assert!(said.contains(why), "{why}: {said}");
        }
    }
}
