//! Which evidence a sentence may rest on: the few that are nearest to what it is to say.
//!
//! SQLite's FTS5 keeps two full-text indices, one of stems and one of trigrams, and ranks by BM25
//! (Robertson and Zaragoza 2009). With a table of word vectors there is a third order. The orders are
//! joined by reciprocal ranks (Cormack, Clarke and Büttcher 2009) in integers.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::evidence::Evidence;
use crate::vectors::{Vectors, cosine};

/// How many of each order count.
const DEPTH: usize = 60;
/// What is added to a rank before it is turned over.
const DAMPING: u64 = 60;
/// The most words of a question.
const MOST_WORDS: usize = 64;

/// An index over evidence.
pub struct Index<'c> {
    evidence: &'c [Evidence],
    sqlite: Connection,
    vectors: Option<(Vectors, Vec<Option<Vec<i64>>>)>,
}

impl<'c> Index<'c> {
    /// One over all of these. An error is one of SQLite's.
    pub fn of(evidence: &'c [Evidence], vectors: Option<Vectors>) -> Result<Index<'c>, rusqlite::Error> {
        let sqlite = Connection::open_in_memory()?;
        sqlite.execute_batch(
            "CREATE VIRTUAL TABLE stems USING fts5(text, tokenize = 'porter unicode61');
             CREATE VIRTUAL TABLE trigrams USING fts5(text, tokenize = 'trigram');
             BEGIN;",
        )?;
        for table in ["stems", "trigrams"] {
            let mut insert = sqlite.prepare(&format!("INSERT INTO {table}(rowid, text) VALUES (?1, ?2)"))?;
            for (at, one) in evidence.iter().enumerate() {
                insert.execute(params![at as i64, one.text])?;
            }
        }
        sqlite.execute_batch("COMMIT")?;
        let vectors = vectors.map(|vectors| {
            let own = evidence.iter().map(|one| vectors.of(&one.text)).collect();
            (vectors, own)
        });
        Ok(Index { evidence, sqlite, vectors })
    }

    /// The `k` nearest, the nearest first; equal ones in the order of the run.
    pub fn search(&self, question: &str, k: usize) -> Result<Vec<&'c Evidence>, rusqlite::Error> {
        let mut scores = BTreeMap::<usize, u64>::new();
        let mut orders = vec![self.lexical("stems", question, 2)?, self.lexical("trigrams", question, 3)?];
        orders.extend(self.by_vector(question));
        for order in orders {
            for (rank, at) in order.into_iter().enumerate() {
                *scores.entry(at).or_default() += 1_000_000_000 / (DAMPING + rank as u64 + 1);
            }
        }
        let mut found: Vec<(u64, usize)> = scores.into_iter().map(|(at, score)| (score, at)).collect();
        found.sort_by(|one, two| two.0.cmp(&one.0).then(one.1.cmp(&two.1)));
        Ok(found.into_iter().take(k).filter_map(|(_, at)| self.evidence.get(at)).collect())
    }

    fn lexical(&self, table: &str, question: &str, shortest: usize) -> Result<Vec<usize>, rusqlite::Error> {
        let words = question.split(|one: char| !one.is_alphanumeric()).filter(|word| word.chars().count() >= shortest);
        // Quoted, so that nothing in it is an operator.
        let asked: Vec<String> = words.take(MOST_WORDS).map(|word| format!("\"{word}\"")).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let sql =
            format!("SELECT rowid FROM {table} WHERE {table} MATCH ?1 ORDER BY bm25({table}), rowid LIMIT {DEPTH}");
        let mut statement = self.sqlite.prepare(&sql)?;
        let rows = statement.query_map(params![asked.join(" OR ")], |row| row.get::<_, i64>(0))?;
        rows.map(|row| row.map(|at| usize::try_from(at).unwrap_or(usize::MAX))).collect()
    }

    fn by_vector(&self, question: &str) -> Option<Vec<usize>> {
        let (vectors, own) = self.vectors.as_ref()?;
        let asked = vectors.of(question)?;
        let near = |at: usize| own[at].as_ref().map(|vector| (cosine(&asked, vector), at));
        let mut order: Vec<(i64, usize)> = (0..own.len()).filter_map(near).collect();
        order.sort_by(|one, two| two.0.cmp(&one.0).then(one.1.cmp(&two.1)));
        Some(order.into_iter().take(DEPTH).map(|(_, at)| at).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Origin;
    use auto_schema::digest::Digest;

    fn corpus() -> Vec<Evidence> {
        let origin = Origin { artifact: Digest([0; 32]), source: "x".to_owned(), literature: false };
        ["The score of i0068 is high.", "The run used few jobs.", "Money was spent by nobody."]
            .iter()
            .enumerate()
            .map(|(at, text)| Evidence::new(&origin, &at.to_string(), (*text).to_owned(), &[], Vec::new()))
            .collect()
    }

    #[test]
    fn stems_and_parts_of_words_are_found_and_operators_are_words() {
        let corpus = corpus();
        let index = Index::of(&corpus, None).unwrap();
        let first = |question: &str| index.search(question, 3).unwrap().first().map(|one| one.locator.clone());
        assert_eq!(first("scores").as_deref(), Some("0"));
        assert_eq!(first("i006").as_deref(), Some("0"));
        assert_eq!(first("job used").as_deref(), Some("1"));
        for question in ["", "\"", "* OR NEAR(", "text:x", "zzzz"] {
            assert_eq!(first(question), None, "{question}");
        }
    }

    #[test]
    fn a_table_of_vectors_finds_what_is_said_in_other_words() {
        let corpus = corpus();
        let table = "money 1 0\ncost 0.9 0.1\nscore 0 1\n";
        let index = Index::of(&corpus, Some(Vectors::read(table).unwrap())).unwrap();
        assert_eq!(index.search("cost", 1).unwrap()[0].locator, "2");
        assert!(Index::of(&corpus, None).unwrap().search("cost", 1).unwrap().is_empty());
    }
}
