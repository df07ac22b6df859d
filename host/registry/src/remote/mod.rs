//! Registries elsewhere: our own server, or an OCI registry. Nothing that they say is believed;
//! what they hand over goes through [`crate::Registry::receive`].

mod http;
mod oci;
mod own;
mod upload;

use std::time::Duration;

use auto_schema::digest::Digest;
use reqwest::Url;

use crate::Result;
use crate::dsse::Envelope;
use crate::error::RegistryError;
use crate::name::TagName;
use crate::papers::Papers;
use crate::parcel::Parcel;

pub use crate::manifest::{ARTIFACT_TYPE, SIGNED_TYPE};

/// A registry elsewhere.
pub trait Remote {
    /// The log of a tag, and what is said about the artifact that it leads to; none where the
    /// tag is not there.
    fn papers(&self, tag: &TagName) -> Result<Option<Papers>>;

    /// What is said about an artifact; none where it is not there, or cannot be asked for so.
    fn papers_of(&self, id: &Digest) -> Result<Option<Papers>>;

    /// An artifact that goes by a tag, or by its id alone. Its bytes are not looked at here.
    fn artifact(&self, tag: Option<&TagName>, id: &Digest) -> Result<Vec<u8>>;

    /// Hands a parcel over.
    fn publish(&self, parcel: &Parcel) -> Result<()>;

    /// What keys say of each other, whatever became of the tags that they signed.
    fn keys(&self) -> Result<Vec<u8>>;

    /// Hands that over. Code: `needs-name` where the registry takes it with a tag alone.
    fn publish_keys(&self, statements: &[Envelope]) -> Result<()>;
}

/// How one gets in.
#[derive(Clone, Default)]
pub struct Access {
    /// A token that is sent as it is.
    pub token: Option<String>,
    /// A user and a password, for an OCI registry or where it sends one for a token.
    pub user: Option<(String, String)>,
}

/// How long is waited, and how much is sent at once.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// Without a byte coming.
    pub idle: Duration,
    /// For all of an exchange.
    pub whole: Duration,
    /// Bytes of an upload that are sent at once, to an OCI registry.
    pub chunk: usize,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(20),
            whole: Duration::from_secs(120),
            chunk: 4 << 20,
        }
    }
}

/// Opens a registry elsewhere: `https://HOST/PATH` is a server of ours, `oci://HOST/PATH` an OCI
/// registry. Only on this machine may it be without encryption, and with `oci+http://` or where
/// nothing secret is sent.
///
/// Codes: `bad-url`, `insecure-url`, `bad-token`.
pub fn open(address: &str, access: Access, patience: Patience) -> Result<Box<dyn Remote>> {
    let (is_oci, address) = match address.strip_prefix("oci") {
        Some(rest) if rest.starts_with("+http://") => (true, rest[1..].to_owned()),
        Some(rest) if rest.starts_with("://") => (true, format!("{}{rest}", default_scheme(rest))),
        _ => (false, address.to_owned()),
    };
    let url = checked(&address)?;
    let secret = access.token.is_some() || access.user.is_some();
    if secret && url.scheme() == "http" && !is_loopback(&url) {
        let message = "the token or password would go unencrypted over the network";
        return Err(RegistryError::refused("insecure-url", message).help("give an https address"));
    }
    let secrets = access.token.iter().chain(access.user.iter().flat_map(|(user, password)| [user, password]));
    if secrets.into_iter().any(|text| text.is_empty() || !text.bytes().all(|byte| (0x20..0x7f).contains(&byte))) {
        let message = "a token, user or password is one line of printable ASCII characters";
        return Err(RegistryError::usage("bad-token", message));
    }
    let http = http::Http::new(patience)?;
    Ok(if is_oci {
        Box::new(oci::Oci::new(http, &url, access, patience.chunk))
    } else {
        Box::new(own::Own::new(http, &url, access))
    })
}

fn default_scheme(rest: &str) -> &'static str {
    match Url::parse(&format!("https{rest}")) {
        Ok(url) if is_loopback(&url) => "http",
        _ => "https",
    }
}

fn checked(address: &str) -> Result<Url> {
    // Not the text itself: it may hold a password.
    let bad = |why: &str| {
        RegistryError::usage("bad-url", format!("the address of the registry {why}"))
            .help("give https://HOST/PATH for a server of ours, oci://HOST/PATH for an OCI registry")
    };
    let url = Url::parse(address).map_err(|_| bad("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("is neither https nor oci"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("holds a user name or password; use --user and --password-file"));
    }
    if url.query().is_some() || url.fragment().is_some() || url.host_str().is_none() {
        return Err(bad("has a query, a fragment or no host"));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Without the slash at its end.
fn base(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::open as open_with;
    use super::*;

    #[test]
    fn addresses_are_read_strictly_and_secrets_stay_off_open_networks() {
        let open = |address: &str, token: Option<&str>| {
            let access = Access { token: token.map(str::to_owned), user: None };
            open_with(address, access, Patience::default()).map(|_| ()).map_err(|error| error.code)
        };
        for good in ["https://h/x", "http://127.0.0.1:1", "oci://h/x/y", "oci://localhost:5000/x", "oci+http://h/x"] {
            assert_eq!(open(good, None), Ok(()), "{good}");
        }
        for bad in ["", "h/x", "ftp://h", "ocix://h", "https://u:p@h", "https://h?x", "https://h#x", "file:///etc"] {
            assert_eq!(open(bad, None), Err("bad-url"), "{bad}");
        }
        assert_eq!(open("http://192.0.2.1/x", Some("secret")), Err("insecure-url"));
        assert_eq!(open("oci+http://192.0.2.1/x", Some("secret")), Err("insecure-url"));
        assert_eq!(open("http://[::1]:9/x", Some("secret")), Ok(()));
        assert_eq!(open("https://h/x", Some("two\nlines")), Err("bad-token"));
    }
}
