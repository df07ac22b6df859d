//! Stores that are a database of a server: what names one, and whether this program can talk to it.

use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::database::{Database, Purpose};

/// The address of a server's database, where a store is named by one.
pub(crate) fn url(store: &Path) -> Option<&str> {
    store.to_str().filter(|name| name.starts_with("postgres://") || name.starts_with("postgresql://"))
}

/// The name of a store as people may read it: an address without its password.
pub fn shown_store(store: &Path) -> String {
    match url(store) {
        Some(url) => without_password(url),
        None => auto_schema::shown_path(store),
    }
}

/// Where a file or folder lies that belongs to a store: beside it, and for a server's database in the
/// current folder, under a name that is made of its address.
pub fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = match url(store) {
        Some(url) => {
            let digest = auto_schema::digest::Digest::of(without_password(url).as_bytes()).to_string();
            format!("postgres-{}", &digest[..12]).into()
        }
        None => store.as_os_str().to_owned(),
    };
    name.push(suffix);
    name.into()
}

/// An address without what stands between the user and the host, and without its parameters.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
    match place.rsplit_once('@') {
        Some((who, host)) => format!("{scheme}://{}@{host}/{database}", who.split(':').next().unwrap_or_default()),
        None => format!("{scheme}://{place}/{database}"),
    }
}

#[cfg(feature = "postgres")]
pub(crate) fn open(url: &str, purpose: Purpose) -> Result<Box<dyn Database>, StoreError> {
    Ok(Box::new(crate::postgres::Postgres::connect(url, &without_password(url), purpose)?))
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn open(url: &str, _: Purpose) -> Result<Box<dyn Database>, StoreError> {
    let name = without_password(url);
    let what = "this program was built without PostgreSQL: build it with `--features postgres`, or name a file";
    Err(StoreError::new("no-postgres", format!("{name} cannot be opened: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_and_none_is_in_the_name_of_a_file() {
        let of = |url: &str| shown_store(Path::new(url));
        assert_eq!(of("postgres://ann:s3cret@db:5432/traces?password=s3cret"), "postgres://ann@db:5432/traces");
        assert_eq!(of("postgres://ann:s3@cret@db/traces"), "postgres://ann@db/traces");
        assert_eq!(of("postgresql:///traces?host=/run"), "postgresql:///traces");
        assert_eq!(of("a/s.db"), "a/s.db");
        let with = beside(Path::new("postgres://ann:one@db/t"), ".spool");
        assert_eq!(with, beside(Path::new("postgres://ann:two@db/t"), ".spool"));
        assert!(with.to_str().is_some_and(|name| name.starts_with("postgres-") && name.ends_with(".spool")));
        assert_eq!(beside(Path::new("a/s.db"), ".spool"), Path::new("a/s.db.spool"));
    }
}
