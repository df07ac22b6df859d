//! A store, and how one is opened: a file of SQLite's, or a database of a PostgreSQL server.

use std::path::Path;

use auto_schema::shown_path;

use crate::database::{Broken, Cell, Database, Purpose, Row, Transaction};
use crate::schema::VERSION;
use crate::sqlite::Sqlite;
use crate::{StoreError, server};

/// A store of recorded traces.
#[derive(Debug)]
pub struct Store {
    pub(crate) database: Box<dyn Database>,
}

impl Store {
    /// Opens the store at `path` for recording, making it where there is none. What begins with
    /// `postgres://` names a database of a server.
    ///
    /// Codes: `not-a-store`, `store-version`, `store-damaged`, `store-busy`, `store-io`, `no-postgres`.
    pub fn create_or_open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        let store = match server::url(path) {
            Some(url) => Store { database: server::open(url, Purpose::Writing)? },
            None => Store { database: Box::new(Sqlite::create_or_open(path)?) },
        };
        store.check_version()?;
        store.migrate()?;
        Ok(store)
    }

    /// Opens the store at `path` for reading; works on a read-only medium too.
    ///
    /// Codes: `no-store` where there is no file or an empty one, else as
    /// [`Store::create_or_open`].
    pub fn open_read(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        let Some(url) = server::url(path) else {
            let store = Store { database: Box::new(Sqlite::open_read(path)?) };
            store.migrate()?;
            return Ok(store);
        };
        let store = Store { database: server::open(url, Purpose::Reading)? };
        store.check_version()?;
        match store.version()? {
            0 => Err(no_store(store.path())),
            VERSION => Ok(store),
            version => Err(StoreError::new(
                "store-version",
                format!(
                    "{} has store version {version}, and this program reads version {VERSION}; a recorder of this program brings it up to date: `auto-host import`",
                    shown_path(store.path())
                ),
            )),
        }
    }

    /// Where the store is; of a server, without the password.
    pub fn path(&self) -> &Path {
        self.database.name()
    }

    pub(crate) fn damaged(&self, what: impl core::fmt::Display) -> StoreError {
        self.database.damaged(&what)
    }

    pub(crate) fn version(&self) -> Result<usize, StoreError> {
        self.database.version()
    }

    /// Refuses what a newer version of this program made.
    pub(crate) fn check_version(&self) -> Result<(), StoreError> {
        check_version(self.version()?, self.path())
    }

    /// One state of the store for several questions: others may write meanwhile.
    pub(crate) fn snapshot(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::begin(&*self.database, Purpose::Reading)
    }

    /// All or nothing of what is written.
    pub(crate) fn writing(&self) -> Result<Transaction<'_>, StoreError> {
        Transaction::begin(&*self.database, Purpose::Writing)
    }

    /// Every row of an answer.
    pub(crate) fn all<T>(
        &self,
        statement: &str,
        parameters: &[Cell<'_>],
        mut read: impl FnMut(&dyn Row) -> Result<T, Broken>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each(statement, parameters, |row| {
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Sees every row of an answer without keeping it.
    pub(crate) fn each(
        &self,
        statement: &str,
        parameters: &[Cell<'_>],
        mut see: impl FnMut(&dyn Row) -> Result<(), Broken>,
    ) -> Result<(), StoreError> {
        self.database.each(statement, parameters, &mut see)
    }

    /// Runs a statement.
    pub(crate) fn execute(&self, statement: &str, parameters: &[Cell<'_>]) -> Result<(), StoreError> {
        self.each(statement, parameters, |_| Ok(()))
    }

    /// Adds a row; gives its number.
    pub(crate) fn insert(&self, statement: &str, parameters: &[Cell<'_>]) -> Result<i64, StoreError> {
        let rows = self.all(&format!("{statement} RETURNING id"), parameters, |row| row.get(0))?;
        rows.first().copied().ok_or_else(|| self.damaged("a row that was added is not there"))
    }
}

/// Refuses what a newer version of this program made.
pub(crate) fn check_version(version: usize, path: &Path) -> Result<(), StoreError> {
    if version <= VERSION {
        return Ok(());
    }
    let message = format!(
        "{} has store version {version}, this program knows versions up to {VERSION}; use the newer auto-host that made it",
        shown_path(path)
    );
    Err(StoreError::new("store-version", message))
}

pub(crate) fn no_store(path: &Path) -> StoreError {
    StoreError::new(
        "no-store",
        format!(
            "there is no trace store at {}; make one with `auto-host record` or `auto-host import`, or name another with --store",
            shown_path(path)
        ),
    )
}
