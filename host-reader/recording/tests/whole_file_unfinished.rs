//! Test of the removal of a process's unfinished files. It is a separate test program, because the
//! call removes all unfinished files of the process.

use recording::whole_file::{remove_unfinished_files, write_whole_file};
use std::io::Write;

#[test]
fn unfinished_files_can_be_removed_and_finished_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    write_whole_file(&folder.path().join("done"), |out| out.write_all(b"whole")).unwrap();
    let written = write_whole_file(&folder.path().join("new"), |out| {
        out.write_all(b"half")?;
        out.flush()?;
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        remove_unfinished_files();
        Ok(())
    });
    assert!(written.is_err(), "there is nothing to publish");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].as_ref().unwrap().file_name(), "done");
}
