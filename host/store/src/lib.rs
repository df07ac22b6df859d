//! Recorded traces in one SQLite file, or in a database of a PostgreSQL server: what was seen, never what
//! was made of it.
//!
//! Traces are immutable and values are stored once, by content. Several processes may
//! record into the same store at once. Whatever is read is held against a digest, so that a
//! damaged store is refused and never read as if it said something else. What observations mean (contracts, gates,
//! programs) lives elsewhere; eval runs and blobs are files, not rows.

mod census;
mod database;
mod error;
mod evidence;
mod export;
mod fingerprint;
mod ingest;
mod key;
mod log;
mod open;
mod owner;
#[cfg(feature = "postgres")]
mod postgres;
mod propose;
mod prune;
mod rows;
mod runs;
mod salvage;
mod schema;
mod scratch;
mod seal;
mod server;
mod sqlite;
mod summary;
mod trace;

pub use auto_schema::contract::Scope;
pub use auto_schema::digest::Digest;
pub use auto_schema::evidence::{Observation, Operation, Reference, Run, Runs as RecordedRuns, evidence_id};
pub use census::{Census, Divergent, Row, Runs, Seen, Share, Tally};
pub use error::StoreError;
pub use export::{CSV_HEAD, csv, jsonl};
pub use ingest::Ingested;
pub use key::{KeyPolicy, input_of};
pub use open::Store;
pub use owner::is_ours;
pub use propose::Proposal;
pub use prune::{Pin, Pruned, Retention};
pub use rows::TaskSummary;
pub use salvage::Salvaged;
pub use server::{beside, shown_store};
pub use trace::{Span, SpanKind, Trace};
