//! Names of WIT interfaces: `package:name/interface@version`, and which versions go
//! together. Nothing here knows what any interface contains.

use std::fmt;

use semver::Version;

/// An interface name, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceName {
    /// `namespace:package`.
    pub package: String,
    /// The interface within the package.
    pub interface: String,
    /// The version; `None` where the name carries none.
    pub version: Option<Version>,
}

impl InterfaceName {
    /// Reads `package:name/interface@version`; `None` for anything else.
    pub fn parse(text: &str) -> Option<InterfaceName> {
        let (path, version) = match text.split_once('@') {
            Some((path, version)) => (path, Some(Version::parse(version).ok()?)),
            None => (text, None),
        };
        let (package, interface) = path.split_once('/')?;
        if !package.contains(':') || interface.is_empty() || interface.contains('/') {
            return None;
        }
        Some(InterfaceName { package: package.to_owned(), interface: interface.to_owned(), version })
    }

    /// Whether both name the same interface, whatever the version.
    pub fn same_interface(&self, other: &InterfaceName) -> bool {
        self.package == other.package && self.interface == other.interface
    }

    /// Whether something that provides `self` can serve who asks for `wanted`: the same
    /// interface, in the same version or one that semantic versioning calls compatible
    /// and not older.
    pub fn serves(&self, wanted: &InterfaceName) -> bool {
        self.same_interface(wanted)
            && match (&self.version, &wanted.version) {
                (Some(own), Some(wanted)) => compatible(own, wanted) && own >= wanted,
                (own, wanted) => own == wanted,
            }
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.package, self.interface)?;
        self.version.as_ref().map_or(Ok(()), |version| write!(f, "@{version}"))
    }
}

/// Whether semantic versioning lets one stand in for the other.
fn compatible(a: &Version, b: &Version) -> bool {
    match (a.major, b.major) {
        (0, 0) if a.minor == 0 => a == b,
        (0, 0) => a.minor == b.minor,
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::InterfaceName;

    fn serves(own: &str, wanted: &str) -> bool {
        InterfaceName::parse(own).unwrap().serves(&InterfaceName::parse(wanted).unwrap())
    }

    #[test]
    fn versions_follow_semantic_versioning() {
        assert!(serves("a:b/c@0.1.1", "a:b/c@0.1.0"));
        assert!(!serves("a:b/c@0.1.0", "a:b/c@0.1.1"));
        assert!(!serves("a:b/c@0.2.0", "a:b/c@0.1.0"));
        assert!(serves("a:b/c@1.4.0", "a:b/c@1.2.9"));
        assert!(!serves("a:b/c@0.0.2", "a:b/c@0.0.1"));
        assert!(!serves("a:b/d@0.1.0", "a:b/c@0.1.0"));
        assert!(serves("a:b/c", "a:b/c"));
        assert!(!serves("a:b/c", "a:b/c@0.1.0"));
    }

    #[test]
    fn other_texts_are_no_names() {
        for text in ["", "run", "a/b", "a:b", "a:b/c@1", "a:b/c@1.x.0", "a:b/c/d@0.1.0", "a:b/@0.1.0"] {
            assert_eq!(InterfaceName::parse(text), None, "{text}");
        }
        assert_eq!(InterfaceName::parse("a:b/c@0.1.0").unwrap().to_string(), "a:b/c@0.1.0");
    }
}
