//! The tables in PostgreSQL's words, version by version. Texts compare by their bytes.

/// One step per version, like SQLite's. There were none before version 3.
pub(super) const STEPS: &[&str] = &[
    "",
    "",
    r#"
    CREATE SCHEMA IF NOT EXISTS auto;
    CREATE TABLE auto.meta (version BIGINT NOT NULL);
    CREATE TABLE auto.value (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        digest BYTEA NOT NULL UNIQUE,
        text TEXT COLLATE "C" NOT NULL
    );
    CREATE TABLE auto.trace (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name TEXT COLLATE "C" NOT NULL UNIQUE,
        digest BYTEA NOT NULL,
        task TEXT COLLATE "C" NOT NULL,
        recorder TEXT COLLATE "C" NOT NULL,
        started BIGINT NOT NULL,
        attributes BIGINT NOT NULL,
        input BIGINT,
        output BIGINT,
        partial BIGINT NOT NULL
    );
    CREATE INDEX trace_by_task ON auto.trace (task, id);
    CREATE TABLE auto.span (
        trace BIGINT NOT NULL,
        place BIGINT NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        kind TEXT COLLATE "C" NOT NULL,
        span BIGINT NOT NULL,
        parent BIGINT,
        sequence BIGINT NOT NULL,
        input BIGINT NOT NULL,
        output BIGINT NOT NULL,
        error TEXT COLLATE "C",
        started BIGINT NOT NULL,
        duration BIGINT,
        attributes BIGINT NOT NULL,
        PRIMARY KEY (trace, place)
    );
    CREATE TABLE auto.task (
        name TEXT COLLATE "C" PRIMARY KEY,
        traces BIGINT NOT NULL,
        partial BIGINT NOT NULL,
        spans BIGINT NOT NULL,
        sum BYTEA NOT NULL
    );
    CREATE TABLE auto.seal (id BIGINT PRIMARY KEY, sum BYTEA NOT NULL);
    CREATE TABLE auto.policy (
        task TEXT COLLATE "C" NOT NULL,
        kind TEXT COLLATE "C" NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        key TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (task, kind, name)
    );
"#,
    r#"
    CREATE TABLE auto.operation (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        task TEXT COLLATE "C" NOT NULL,
        run BIGINT NOT NULL,
        kind TEXT COLLATE "C" NOT NULL,
        name TEXT COLLATE "C" NOT NULL,
        UNIQUE (task, run, kind, name)
    );
    CREATE TABLE auto.tally (
        operation BIGINT NOT NULL,
        input BIGINT NOT NULL,
        output BIGINT NOT NULL,
        mark BIGINT NOT NULL,
        spans BIGINT NOT NULL,
        priced BIGINT NOT NULL,
        micros BIGINT NOT NULL,
        cost BIGINT NOT NULL,
        tokens BIGINT NOT NULL,
        PRIMARY KEY (operation, input, output)
    );
    CREATE TABLE auto.summary (
        task TEXT COLLATE "C" PRIMARY KEY,
        structural BIGINT NOT NULL,
        uncaptured BIGINT NOT NULL,
        one_sided BIGINT NOT NULL,
        sum BYTEA NOT NULL
    );
"#,
];

/// How many columns the tables of each version have.
pub(super) const COLUMNS: [i64; 5] = [0, 0, 0, 38, 57];
