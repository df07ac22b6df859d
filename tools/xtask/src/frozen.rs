//! Released WIT does not change under those who built against it: a release copies `wit/`
//! to `wit/frozen/NAME@VERSION/`, and every world of a live package is checked against the
//! newest frozen version it must stay compatible with.
//!
//! `wit_component::semver_check` allows a world to export less and to import more, and
//! sees only worlds. So each package is also given a world of our own that imports all
//! its interfaces: it finds what was taken out of an interface, which the plug-ins or the
//! hosts on the other side may still call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use semver::BuildMetadata;
use wit_parser::{PackageName, Resolve, SourceMap, UnresolvedPackageGroup, WorldId};

use crate::workspace::Workspace;

const FROZEN: &str = "wit/frozen";
/// The world that imports every interface of a package.
const EVERYTHING: &str = "every-interface";
/// Build metadata that tells a frozen package from the live one of the same version.
const MARK: &str = "frozen";

/// Checks the live packages against the frozen ones.
pub fn check(workspace: &Workspace) -> Result<()> {
    let broken = compare(&workspace.path("wit"), &workspace.path(FROZEN))?;
    for line in &broken {
        eprintln!("  {line}");
    }
    if !broken.is_empty() {
        bail!("{} incompatible changes to released WIT; raise the package's version, or undo them", broken.len());
    }
    eprintln!("  WIT is compatible with what is frozen");
    Ok(())
}

/// Copies the live packages under `wit/frozen`. What is frozen stays: a version that is
/// there already must be the same, byte for byte.
pub fn freeze(workspace: &Workspace) -> Result<()> {
    for package in packages(&workspace.path("wit"))? {
        let version = package.name().version.as_ref().with_context(|| format!("{} has no version", package.name()))?;
        let name = format!("{}@{version}", package.name().name);
        let target = workspace.path(FROZEN).join(&name);
        if !target.exists() {
            copy(&package.folder, &target)?;
            eprintln!("  froze {FROZEN}/{name}");
        } else if contents(&package.folder)? != contents(&target)? {
            bail!("{FROZEN}/{name} is frozen and differs from the live package; raise the live version");
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("could not make {}", to.display()))?;
    for (name, bytes) in contents(from)? {
        std::fs::write(to.join(&name), bytes)
            .with_context(|| format!("could not write {}", to.join(&name).display()))?;
    }
    Ok(())
}

/// The WIT files of a folder by name.
fn contents(folder: &Path) -> Result<BTreeMap<OsString, Vec<u8>>> {
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        Ok((path.file_name().unwrap_or_default().to_owned(), bytes))
    };
    wit_files(folder)?.into_iter().map(read).collect()
}

/// One line for every incompatible change.
fn compare(live: &Path, frozen: &Path) -> Result<Vec<String>> {
    let live = packages(live)?;
    let frozen = newest_compatible(&live, packages(frozen)?);
    let mut both = load(&live)?;
    let mut old = load(&frozen)?;
    mark_frozen(&mut old)?;
    both.merge(old)?;
    let mut broken = Vec::new();
    for (name, frozen) in both.package_names.iter().filter(|(name, _)| is_frozen(name)) {
        let found = both.package_names.iter().find(|(other, _)| same_track(other, name) && !is_frozen(other));
        let (name, live) = found.with_context(|| format!("{name} has no live package"))?;
        for (world, frozen) in &both.packages[*frozen].worlds {
            broken.extend(compare_world(&both, name, world, *frozen, both.packages[*live].worlds.get(world)));
        }
    }
    Ok(broken)
}

fn compare_world(
    both: &Resolve,
    package: &PackageName,
    name: &str,
    frozen: WorldId,
    live: Option<&WorldId>,
) -> Option<String> {
    let Some(live) = live else {
        return Some(format!("{package}: the world {name} is gone"));
    };
    let error = wit_component::semver_check(both.clone(), frozen, *live).err()?;
    Some(format!("{package}: {name}: {}", error.root_cause()))
}

/// A package as parsed from one folder.
struct Package {
    folder: PathBuf,
    group: UnresolvedPackageGroup,
}

impl Package {
    fn name(&self) -> &PackageName {
        &self.group.main.name
    }
}

/// Every package under a folder; none where the folder is missing. `frozen` is not one.
fn packages(folder: &Path) -> Result<Vec<Package>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut packages = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let folder = entry?.path();
        if folder.is_dir() && folder.file_name().is_some_and(|name| name != "frozen") {
            let group = parse(&folder)?;
            packages.push(Package { folder, group });
        }
    }
    packages.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(packages)
}

/// The WIT files of a folder as one package, with the world that imports every interface.
fn parse(folder: &Path) -> Result<UnresolvedPackageGroup> {
    let declared = UnresolvedPackageGroup::parse_dir(folder)?;
    let imports: String = declared
        .main
        .interfaces
        .iter()
        .filter_map(|(_, interface)| interface.name.as_ref())
        .fold(String::new(), |text, name| format!("{text}  import {name};\n"));
    let mut sources = SourceMap::default();
    for file in wit_files(folder)? {
        sources.push_file(&file)?;
    }
    sources.push_str(&format!("{EVERYTHING}.wit"), format!("world {EVERYTHING} {{\n{imports}}}\n"));
    sources.parse().map_err(|(sources, error)| anyhow!("{}", error.render(&sources)))
}

fn wit_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wit") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// One `Resolve` of packages that name each other.
fn load(packages: &[Package]) -> Result<Resolve> {
    let mut resolve = Resolve::default();
    let mut groups = packages.iter().map(|package| parse(&package.folder));
    if let Some(first) = groups.next() {
        let rest = groups.collect::<Result<Vec<_>>>()?;
        resolve.push_groups(first?, rest).map_err(|error| anyhow!("{}", error.kind()))?;
    }
    Ok(resolve)
}

/// Of the frozen packages, the newest on each live package's compatibility track.
fn newest_compatible(live: &[Package], frozen: Vec<Package>) -> Vec<Package> {
    let mut newest: Vec<Package> = Vec::new();
    for package in frozen {
        if !live.iter().any(|live| same_track(live.name(), package.name())) {
            continue;
        }
        match newest.iter_mut().find(|other| same_track(other.name(), package.name())) {
            Some(other) if other.name().version < package.name().version => *other = package,
            Some(_) => {}
            None => newest.push(package),
        }
    }
    newest
}

/// Versions that must stay compatible: of the same major, or below 1.0 the same minor.
fn same_track(a: &PackageName, b: &PackageName) -> bool {
    let track = |name: &PackageName| name.version.as_ref().map(PackageName::version_compat_track);
    a.namespace == b.namespace && a.name == b.name && track(a) == track(b)
}

/// Gives frozen packages names of their own, so that they stand beside the live ones.
fn mark_frozen(resolve: &mut Resolve) -> Result<()> {
    let mark = BuildMetadata::new(MARK)?;
    for (_, package) in resolve.packages.iter_mut() {
        if let Some(version) = &mut package.name.version {
            version.build = mark.clone();
        }
    }
    resolve.package_names = resolve.packages.iter().map(|(id, package)| (package.name.clone(), id)).collect();
    Ok(())
}

fn is_frozen(name: &PackageName) -> bool {
    name.version.as_ref().is_some_and(|version| version.build.as_str() == MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: &str = "package a:b@0.1.0;
        interface i { record r { x: u32 } f: func(r: r) -> u32; g: func(); }
        interface host { h: func(); }
        world w { import host; export i; }";

    fn broken(frozen: &str, live: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("wit/b/b.wit", live);
        write("wit/frozen/b@0.1.0/b.wit", frozen);
        compare(&folder.path().join("wit"), &folder.path().join("wit/frozen")).unwrap()
    }

    #[test]
    fn the_same_text_is_compatible() {
        assert!(broken(LIVE, LIVE).is_empty());
    }

    #[test]
    fn a_removed_function_is_caught() {
        let found = broken(LIVE, &LIVE.replace("g: func();", ""));
        assert!(found.iter().any(|line| line.contains("every-interface")), "{found:?}");
    }

    #[test]
    fn a_function_added_to_a_published_export_is_caught() {
        let found = broken(LIVE, &LIVE.replace("g: func();", "g: func(); k: func();"));
        assert!(found.iter().any(|line| line.contains(": w: ")), "{found:?}");
    }

    #[test]
    fn an_added_export_is_caught() {
        let live = LIVE.replace("world w {", "interface more { m: func(); } world w { export more;");
        assert!(!broken(LIVE, &live).is_empty());
    }

    #[test]
    fn a_changed_record_is_caught() {
        assert!(!broken(LIVE, &LIVE.replace("x: u32", "x: u64")).is_empty());
    }

    #[test]
    fn a_removed_world_is_caught() {
        assert!(!broken(LIVE, &LIVE.replace("world w", "world other")).is_empty());
    }

    #[test]
    fn what_the_host_lends_may_grow() {
        assert!(broken(LIVE, &LIVE.replace("h: func();", "h: func(); k: func();")).is_empty());
    }

    #[test]
    fn a_new_minor_version_below_one_starts_afresh() {
        assert!(broken(LIVE, &LIVE.replace("g: func();", "").replace("0.1.0", "0.2.0")).is_empty());
    }
}
