//! What a store asks of the database that it is in: a few methods over statements that SQLite and
//! PostgreSQL both understand. Everything that a store is, its checks among them, is written against
//! this, and so is the same over both.
//!
//! Statements number their parameters (`?1`); a text compares by its bytes, an integer has 64 bits. While
//! rows are handed over, nothing else may be asked.

use core::fmt;
use std::path::Path;

use crate::StoreError;

/// What stands in a column, or is put into one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The parameters of a statement.
macro_rules! cells {
    ($($value:expr),* $(,)?) => { &[$($crate::database::Cell::from($value)),*] };
}
pub(crate) use cells;

/// A row of an answer.
pub(crate) trait Row {
    /// What stands in a column; none where it is nothing that a store puts there.
    fn cell(&self, column: usize) -> Option<Cell<'_>>;
}

/// Why a row was not taken.
pub(crate) enum Broken {
    /// This column is not what it should be.
    Column(usize),
    /// Whoever took it cannot go on.
    Store(StoreError),
}

/// What sees the rows of an answer, one after the other.
pub(crate) type See<'s> = dyn FnMut(&dyn Row) -> Result<(), Broken> + 's;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// One state for several questions, whatever others write meanwhile.
    Reading,
    /// All or nothing, while nobody else writes.
    Writing,
}

/// A database with the tables of a store in it.
pub(crate) trait Database: fmt::Debug + Send {
    /// What people call it: never with a password in it.
    fn name(&self) -> &Path;

    /// An error that says that it is not what was written.
    fn damaged(&self, what: &dyn fmt::Display) -> StoreError;

    fn begin(&self, purpose: Purpose) -> Result<(), StoreError>;

    /// Ends a transaction: what was written is on the disk when this returns.
    fn commit(&self) -> Result<(), StoreError>;

    fn roll_back(&self);

    /// Runs a statement, and hands over its rows.
    fn each(&self, statement: &str, parameters: &[Cell<'_>], see: &mut See<'_>) -> Result<(), StoreError>;

    /// The version of its tables; 0 where there are none.
    fn version(&self) -> Result<usize, StoreError>;

    /// Refuses tables that are not those of its version.
    fn check_tables(&self) -> Result<(), StoreError>;

    /// Makes of the tables of the version before this one those of this one.
    fn step_to(&self, version: usize) -> Result<(), StoreError>;

    /// Writes down which version its tables are of.
    fn stamp(&self, version: usize) -> Result<(), StoreError>;

    /// What is to be done after something was written.
    fn settle(&self) {}

    /// Gives back space that nothing is in.
    fn compact(&self) -> Result<(), StoreError>;

    /// How much space it takes, in bytes.
    fn bytes(&self) -> Result<u64, StoreError>;
}

/// A transaction; taken back where it is not committed.
pub(crate) struct Transaction<'d> {
    database: &'d dyn Database,
    open: bool,
}

impl<'d> Transaction<'d> {
    pub(crate) fn begin(database: &'d dyn Database, purpose: Purpose) -> Result<Transaction<'d>, StoreError> {
        database.begin(purpose)?;
        Ok(Transaction { database, open: true })
    }

    pub(crate) fn commit(mut self) -> Result<(), StoreError> {
        self.database.commit()?;
        self.open = false;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            self.database.roll_back();
        }
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Broken {
        Broken::Store(error)
    }
}

impl dyn Row + '_ {
    /// What stands in a column.
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T, Broken> {
        self.cell(column).and_then(T::of).ok_or(Broken::Column(column))
    }

    /// A text, where it lies.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Broken> {
        match self.cell(column) {
            Some(Cell::Text(text)) => Ok(text),
            _ => Err(Broken::Column(column)),
        }
    }
}

/// What can be read from a column.
pub(crate) trait Column: Sized {
    fn of(cell: Cell<'_>) -> Option<Self>;
}

impl Column for i64 {
    fn of(cell: Cell<'_>) -> Option<i64> {
        if let Cell::Integer(value) = cell { Some(value) } else { None }
    }
}

/// A count; what may be larger than an `i64` is kept by its bits, and read as one.
impl Column for u64 {
    fn of(cell: Cell<'_>) -> Option<u64> {
        i64::of(cell).and_then(|value| u64::try_from(value).ok())
    }
}

impl Column for bool {
    fn of(cell: Cell<'_>) -> Option<bool> {
        i64::of(cell).map(|value| value != 0)
    }
}

impl Column for String {
    fn of(cell: Cell<'_>) -> Option<String> {
        if let Cell::Text(text) = cell { Some(text.to_owned()) } else { None }
    }
}

impl Column for [u8; 32] {
    fn of(cell: Cell<'_>) -> Option<[u8; 32]> {
        if let Cell::Bytes(bytes) = cell { bytes.try_into().ok() } else { None }
    }
}

impl<T: Column> Column for Option<T> {
    fn of(cell: Cell<'_>) -> Option<Option<T>> {
        if cell == Cell::Null { Some(None) } else { T::of(cell).map(Some) }
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Integer(value)
    }
}

/// By its bits: it is never ordered in the database.
impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Integer(value.cast_signed())
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Cell::Integer(value.into())
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text)
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Cell::Text(text)
    }
}

impl<'a> From<&'a [u8; 32]> for Cell<'a> {
    fn from(bytes: &'a [u8; 32]) -> Self {
        Cell::Bytes(bytes)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}
