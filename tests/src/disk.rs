//! A disk that is full when a test says so.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A small file system, gone at the end; none where this process may not mount one.
#[derive(Debug)]
pub struct Disk(pub PathBuf);

impl Disk {
    /// One of that size, as `mount` takes it.
    pub fn new(size: &str) -> Option<Disk> {
        let place = tempfile::tempdir().unwrap().keep();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&place).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Disk(place));
        }
        eprintln!("skipped: a small file system cannot be mounted here");
        let _ = fs::remove_dir(place);
        None
    }

    /// Fills it, with a file that [`Disk::free`] removes.
    pub fn fill(&self) {
        // A block at a time, until nothing more fits.
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    }

    /// Makes room again.
    pub fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}
