//! What may go from a registry: objects that nothing leads to, and artifacts that no tag ever
//! led to, where that is asked for.

use std::collections::BTreeSet;
use std::fs;

use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::Result;
use crate::error::RegistryError;
use crate::registry::Registry;

/// How far a collection goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Only say what would go.
    pub dry_run: bool,
    /// Also artifacts that no statement of any tag leads to.
    pub untagged: bool,
}

/// What went, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Artifacts that no tag leads to.
    pub artifacts: Vec<Digest>,
    /// Objects that nothing leads to, with their bytes.
    pub objects: Vec<(Digest, u64)>,
    /// Bytes of what stays.
    pub kept: u64,
}

impl Registry {
    /// Removes what nothing leads to. What is no object of ours is left alone. Codes:
    /// `bad-tag-log`, `unremovable`.
    pub fn collect(&self, reach: Reach) -> Result<Collected> {
        if reach.dry_run {
            let (mut index, _) = self.folder().index()?;
            return self.collect_in(&mut index, reach);
        }
        // The index first: a crash then leaves objects, never an index that leads nowhere.
        let artifacts = self.change(|index, registry| registry.untag(index, reach))?;
        self.change(|index, registry| {
            let collected = registry.collect_in(index, Reach { untagged: false, ..reach })?;
            Ok(Collected { artifacts, ..collected })
        })
    }

    fn untag(&self, index: &mut crate::index::Index, reach: Reach) -> Result<Vec<Digest>> {
        if !reach.untagged {
            return Ok(Vec::new());
        }
        let mut tagged = BTreeSet::new();
        for tag in index.tags.keys() {
            let log = self.known_log(index, tag)?;
            tagged.extend(log.iter().flat_map(|log| log.entries()).map(|entry| entry.id));
        }
        let untagged: Vec<Digest> = index.artifacts.keys().filter(|id| !tagged.contains(id)).copied().collect();
        untagged.iter().for_each(|id| {
            index.artifacts.remove(id);
        });
        Ok(untagged)
    }

    fn collect_in(&self, index: &mut crate::index::Index, reach: Reach) -> Result<Collected> {
        let artifacts = self.untag(index, reach)?;
        let wanted: BTreeSet<Digest> = index.objects().collect();
        let mut collected = Collected { artifacts, ..Collected::default() };
        for entry in fs::read_dir(self.folder().objects_path()).into_iter().flatten().flatten() {
            let digest = entry.file_name().to_str().and_then(Digest::parse);
            let size = entry.metadata().ok().filter(fs::Metadata::is_file).map(|found| found.len());
            let (Some(digest), Some(size)) = (digest, size) else { continue };
            if wanted.contains(&digest) {
                collected.kept += size;
                continue;
            }
            if !reach.dry_run {
                let path = entry.path();
                fs::remove_file(&path).map_err(|error| {
                    RegistryError::refused("unremovable", format!("cannot remove {}: {error}", shown_path(&path)))
                })?;
            }
            collected.objects.push((digest, size));
        }
        collected.objects.sort();
        Ok(collected)
    }
}
