//! Where providers are and which keys they take: from the environment, under the names that
//! their own tools use.

use std::collections::BTreeMap;
use std::path::Path;

use auto_files::regular;
use reqwest::Url;

use crate::error::ModelError;
use crate::name::Provider;
use crate::secret::Secret;

/// The most bytes of a file with a key.
const LARGEST_KEY: u64 = 64 << 10;

/// The variables of a process, or of a test.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

/// Where a provider is.
pub(crate) struct Endpoint {
    /// Without a slash at its end.
    pub(crate) base: String,
    pub(crate) key: Option<Secret>,
    /// Whether it is the provider's own, and no server that speaks the same.
    pub(crate) official: bool,
    /// Whether it is this machine.
    pub(crate) loopback: bool,
}

/// What a provider is called in the environment.
struct Names {
    base: &'static str,
    default: &'static str,
    key: &'static str,
    key_file: &'static str,
}

fn names(provider: Provider) -> Names {
    let of = |base, default, key, key_file| Names { base, default, key, key_file };
    match provider {
        Provider::OpenAi => of("OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_API_KEY_FILE"),
        Provider::Anthropic => {
            of("ANTHROPIC_BASE_URL", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE")
        }
        Provider::Ollama => of("OLLAMA_HOST", "http://127.0.0.1:11434", "OLLAMA_API_KEY", "OLLAMA_API_KEY_FILE"),
        Provider::LlamaCpp => {
            of("LLAMACPP_BASE_URL", "http://127.0.0.1:8080/v1", "LLAMACPP_API_KEY", "LLAMACPP_API_KEY_FILE")
        }
    }
}

impl Environment {
    /// Of this process; what is not UTF-8 is left out.
    pub fn of_process() -> Environment {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Environment(variables.filter_map(|(name, value)| Some((name, value.into_string().ok()?))).collect())
    }

    /// With a variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Environment {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Where a provider is, and the key for it.
    ///
    /// Codes: `bad-url`, `insecure-url`, `no-key`, `bad-key`.
    pub(crate) fn endpoint(&self, provider: Provider) -> Result<Endpoint, ModelError> {
        let names = names(provider);
        let given = self.get(names.base);
        let official = given.is_none() && !provider.is_local();
        let base = given.map_or(names.default.to_owned(), |text| completed(provider, text));
        let url = checked(&base).map_err(|why| {
            // Not the text itself: it may hold a password.
            let message = format!("the address in {} {why}", names.base);
            ModelError::new("bad-url", message).help("give one such as https://host/v1")
        })?;
        let loopback = url.host_str().is_some_and(is_loopback);
        let key = self.key(&names)?;
        if key.is_none() && official {
            return Err(ModelError::new("no-key", format!("there is no key for {}", provider.name()))
                .help(format!("set {}, or {} to a file that holds it", names.key, names.key_file)));
        }
        if key.is_some() && url.scheme() == "http" && !loopback {
            let message = format!("the key for {} would go unencrypted over the network", provider.name());
            return Err(
                ModelError::new("insecure-url", message).help(format!("set {} to an https address", names.base))
            );
        }
        Ok(Endpoint { base: base.trim_end_matches('/').to_owned(), key, official, loopback })
    }

    fn key(&self, names: &Names) -> Result<Option<Secret>, ModelError> {
        let bad = |place: &str| {
            ModelError::new("bad-key", format!("what {place} holds cannot be a key"))
                .help("a key is at least 8 printable ASCII characters on one line")
        };
        if let Some(text) = self.get(names.key) {
            return Secret::new(text).map(Some).ok_or_else(|| bad(names.key));
        }
        let Some(path) = self.get(names.key_file) else { return Ok(None) };
        let text = regular::text_of_any(Path::new(path), LARGEST_KEY).map_err(|error| {
            ModelError::new("bad-key", format!("the file in {} cannot be read: {error}", names.key_file))
        })?;
        Secret::new(&text).map(Some).ok_or_else(|| bad(names.key_file))
    }
}

/// Ollama's own variable may be a bare host, or the address to listen on.
fn completed(provider: Provider, text: &str) -> String {
    if provider != Provider::Ollama || text.contains("://") {
        return text.to_owned();
    }
    let text = text.replace("0.0.0.0", "127.0.0.1");
    let port = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    format!("http://{text}{}", if port { "" } else { ":11434" })
}

fn checked(base: &str) -> Result<Url, &'static str> {
    let url = Url::parse(base).map_err(|_| "is not a URL")?;
    match url.scheme() {
        "http" | "https" => {}
        _ => return Err("is neither http nor https"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user name or password; use a key");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("has a query or fragment");
    }
    Ok(url)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KEY: &str = "sk-0123456789";

    #[test]
    fn an_endpoint_comes_from_the_environment_under_the_usual_names() {
        let nothing = Environment::default();
        let base = |environment: &Environment, provider| environment.endpoint(provider).unwrap().base;
        assert_eq!(base(&nothing, Provider::Ollama), "http://127.0.0.1:11434");
        assert_eq!(base(&nothing, Provider::LlamaCpp), "http://127.0.0.1:8080/v1");
        for (given, is) in [
            ("0.0.0.0:1234", "http://127.0.0.1:1234"),
            ("10.0.0.7", "http://10.0.0.7:11434"),
            ("http://box/", "http://box"),
        ] {
            assert_eq!(base(&nothing.clone().with("OLLAMA_HOST", given), Provider::Ollama), is);
        }
        let openai = nothing.with("OPENAI_API_KEY", format!(" {KEY}\n")).endpoint(Provider::OpenAi).unwrap();
        assert_eq!((openai.base.as_str(), openai.official), ("https://api.openai.com/v1", true));
        assert_eq!(openai.key.unwrap().expose(), KEY);
    }

    #[test]
    fn a_key_may_be_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, format!("{KEY}\n")).unwrap();
        let environment = Environment::default().with("ANTHROPIC_API_KEY_FILE", path.display().to_string());
        assert_eq!(environment.endpoint(Provider::Anthropic).unwrap().key, Secret::new(KEY));
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_showing_it() {
        let base = |url: &str| Environment::default().with("OPENAI_BASE_URL", url).with("OPENAI_API_KEY", KEY);
        let key = |text: &str| Environment::default().with("OPENAI_API_KEY", text);
        for (environment, code) in [
            (Environment::default(), "no-key"),
            (key("two words-and-more"), "bad-key"),
            (key("short"), "bad-key"),
            (Environment::default().with("OPENAI_API_KEY_FILE", "/nowhere/hidden-word"), "bad-key"),
            (base("api.example/hidden-word"), "bad-url"),
            (base("ftp://host/hidden-word"), "bad-url"),
            (base("https://me:hidden-word@host/v1"), "bad-url"),
            (base("https://host/v1?key=hidden-word"), "bad-url"),
            (base("http://192.0.2.1/hidden-word"), "insecure-url"),
        ] {
            let error = environment.endpoint(Provider::OpenAi).err().expect("it was taken");
            assert_eq!(error.code, code);
            assert!(!format!("{error:?}").contains("hidden-word"), "{error:?}");
        }
        assert!(base("http://127.0.0.1:9/v1").endpoint(Provider::OpenAi).is_ok());
    }
}
