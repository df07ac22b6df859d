//! Bearer tokens, compared in constant time.

use auto_schema::digest::Digest;
use axum::http::{HeaderMap, header};
use subtle::{Choice, ConstantTimeEq as _};

/// A token that is known by its SHA-256 alone, so that neither memory nor comparison gives it away.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(Digest);

impl Hidden {
    /// Of the token itself.
    pub fn of(token: &str) -> Hidden {
        Hidden(Digest::of(token.as_bytes()))
    }

    /// Of its SHA-256.
    pub fn hashed(digest: Digest) -> Hidden {
        Hidden(digest)
    }

    /// The one among many that a presented token is. All are compared, so that the time says
    /// neither which nor how much of it was right.
    pub fn find<'a, T>(presented: &str, among: impl Iterator<Item = (&'a Hidden, T)>) -> Option<T> {
        let presented = Digest::of(presented.as_bytes());
        let mut found = None;
        for (hidden, what) in among {
            let same: Choice = hidden.0.as_bytes().ct_eq(presented.as_bytes());
            if bool::from(same) {
                found = Some(what);
            }
        }
        found
    }
}

/// The token that a request carries as `Authorization: Bearer TOKEN`.
pub fn presented(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_all_of_it_and_nothing_less() {
        let (a, b) = (Hidden::of("token-a-0123456789"), Hidden::hashed(Digest::of(b"token-b-0123456789")));
        let find = |presented: &str| Hidden::find(presented, [(&a, 'a'), (&b, 'b')].into_iter());
        assert_eq!((find("token-a-0123456789"), find("token-b-0123456789")), (Some('a'), Some('b')));
        for wrong in ["", "token-a-012345678", "token-a-01234567890", "Token-a-0123456789", "token-a-0123456789 "] {
            assert_eq!(find(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_comes_as_bearer_and_not_otherwise() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            presented(&headers).map(str::to_owned)
        };
        assert_eq!(of("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(of("bearer  abc ").as_deref(), Some("abc"));
        assert_eq!((of("Basic abc"), of("abc"), presented(&HeaderMap::new())), (None, None, None));
    }
}
