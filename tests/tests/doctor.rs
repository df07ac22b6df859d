//! What `auto-host doctor` says of an installation that works.

use auto_tests::tool::{Tool, printed};

#[test]
fn a_sound_installation_is_called_healthy() {
    let output = Tool::new().run(&["doctor"]);
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn a_folder_that_is_not_there_is_not_made_for_looking_at_it() {
    let tool = Tool::new();
    for folder in ["absent", "absent/cache"] {
        let output = tool.run(&["doctor", "--cache", folder]);
        assert!(output.status.success() && printed(&output).contains("will be kept in"), "{}", printed(&output));
    }
    assert_eq!(std::fs::read_dir(tool.folder()).unwrap().count(), 0);
    std::fs::write(tool.path("file"), "").unwrap();
    let output = tool.run(&["doctor", "--cache", "file/cache"]);
    assert!(printed(&output).contains("cannot be made in file"), "{}", printed(&output));
}
