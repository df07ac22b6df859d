//! What an importer reports beside traces: what was left out or could not be used, counted,
//! each with the first place where it was.

use crate::Note;

/// Notes as they come up. Equal ones are counted, so that a large file says as much as a small
/// one.
#[derive(Debug, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// Something of the file that cannot be learned from: what, why, and what to do.
    pub fn unusable(&mut self, code: &str, message: &str, at: &str) {
        self.add(code, message, at, false);
    }

    /// Something that was read in a way one may want to know of.
    pub fn remark(&mut self, code: &str, message: &str, at: &str) {
        self.add(code, message, at, true);
    }

    fn add(&mut self, code: &str, message: &str, at: &str, usable: bool) {
        if let Some(known) = self.0.iter_mut().find(|note| note.code == code && note.message == message) {
            known.count += 1;
            return;
        }
        let (code, message) = (code.to_owned(), message.to_owned());
        self.0.push(Note { code, message, usable, count: 1, at: (!at.is_empty()).then(|| at.to_owned()) });
    }

    /// The notes in the order of their first occurrence.
    pub fn finish(self) -> Vec<Note> {
        self.0
    }
}
