//! Bodies that come compressed, within a bound: a few bytes can claim to be gigabytes.

use std::io::{self, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};

/// Why a body was not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// It is more than the bound.
    TooLarge,
    /// It is not of the encoding that it says.
    Damaged,
    /// No encoding that is known here.
    Unknown,
}

/// The bytes that an encoded body stands for, at most `most`. `encoding` is what
/// `Content-Encoding` says; empty or `identity` for a body as it is.
pub fn decode(encoding: &str, body: &[u8], most: usize) -> Result<Vec<u8>, Undecoded> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" if body.len() > most => Err(Undecoded::TooLarge),
        "" | "identity" => Ok(body.to_vec()),
        "gzip" | "x-gzip" => bounded(MultiGzDecoder::new(body), most),
        "deflate" => bounded(ZlibDecoder::new(body), most),
        _ => Err(Undecoded::Unknown),
    }
}

fn bounded(reader: impl Read, most: usize) -> Result<Vec<u8>, Undecoded> {
    let mut bytes = Vec::new();
    let read: io::Result<usize> = reader.take((most as u64).saturating_add(1)).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() > most => Err(Undecoded::TooLarge),
        Ok(_) => Ok(bytes),
        Err(_) => Err(Undecoded::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_body_is_decoded_within_its_bound() {
        let packed = gzip(b"spans");
        assert_eq!(decode("gzip", &packed, 5).as_deref(), Ok(&b"spans"[..]));
        assert_eq!(decode("GZIP ", &packed, 4), Err(Undecoded::TooLarge));
        assert_eq!(decode("gzip", &packed[..10], 50), Err(Undecoded::Damaged));
        assert_eq!(decode("br", &packed, 50), Err(Undecoded::Unknown));
        assert_eq!(decode("", b"abc", 2), Err(Undecoded::TooLarge));
    }

    #[test]
    fn a_bomb_stops_at_the_bound() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100_000);
        assert_eq!(decode("gzip", &bomb, 1 << 20), Err(Undecoded::TooLarge));
    }
}
