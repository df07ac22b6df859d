//! What `auto-host doctor` says of an installation that works.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn a_sound_installation_is_called_healthy() {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("auto-host");
    let binary = std::env::var_os("AUTO_HOST").map_or(built, PathBuf::from);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary);
    let command = command.arg("doctor").env("AUTO_CACHE", folder.path().join("cache")).current_dir(folder.path());
    let output = command.output().expect("auto-host is built by `cargo xtask build`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
