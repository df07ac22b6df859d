//! A server on a loopback address is for programs of this machine. A page of some site, shown in
//! a browser here, can send requests to it too; and with a name of its own that it lets point
//! here, even read the replies. Such requests are told by the host they ask for and by where they
//! say they come from.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, header};

use super::Problem;

/// Refuses what a page of another site sends. Problems: `foreign-host`, `foreign-origin`.
pub(super) fn refuse_foreign(headers: &HeaderMap) -> Result<(), Problem> {
    if let Some(host) = headers.get(header::HOST)
        && !host.to_str().is_ok_and(is_local)
    {
        let message = "this server is for programs of this machine, and was asked for by another name";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "foreign-host", message)
            .help("ask for it as 127.0.0.1, [::1] or localhost, or start it on an address that others reach"));
    }
    if let Some(origin) = headers.get(header::ORIGIN)
        && !origin.to_str().is_ok_and(|origin| origin.split_once("://").is_some_and(|(_, host)| is_local(host)))
    {
        let message = "this server is for programs of this machine, and not for pages of other sites";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", message)
            .help("have the page ask its own server, or start this one on an address that others reach"));
    }
    Ok(())
}

/// Whether `HOST` or `HOST:PORT` is this machine by one of the names that nobody else can have.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for local in ["localhost", "LocalHost:7433", "127.0.0.1", "127.0.0.1:80", "127.1.2.3:1", "[::1]", "[::1]:7433"]
        {
            assert!(is_local(local), "{local}");
        }
        for foreign in ["", "example.org", "localhost.example.org", "127.0.0.1.nip.io", "10.0.0.1:7433", "[::2]:7433"] {
            assert!(!is_local(foreign), "{foreign}");
        }
    }

    #[test]
    fn what_a_page_of_another_site_sends_is_refused() {
        let with = |name: header::HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            refuse_foreign(&headers).map_err(|problem| problem.code.into_owned())
        };
        assert_eq!(with(header::HOST, "evil.example:7433"), Err("foreign-host".to_owned()));
        assert_eq!(with(header::ORIGIN, "https://evil.example"), Err("foreign-origin".to_owned()));
        assert_eq!(with(header::ORIGIN, "null"), Err("foreign-origin".to_owned()));
        assert_eq!(with(header::ORIGIN, "http://localhost:3000"), Ok(()));
        assert!(refuse_foreign(&HeaderMap::new()).is_ok());
    }
}
