//! A registry as a server: what `registry push` and `pull` speak to. It believes its clients as
//! little as they believe it: what is put goes through [`Registry::receive`], under the keys and
//! the policy of this side.
//!
//! | request | |
//! |---|---|
//! | `GET /v1/list` | ids of artifacts, tags with number and id |
//! | `GET /v1/tags/TAG/NAME` | the log of a tag, what is said of the artifact, what keys say |
//! | `PUT /v1/tags/TAG/NAME` | the same, for an artifact that was put before |
//! | `GET /v1/keys`, `PUT` | what keys say of each other; what no key that counts here says is passed over |
//! | `GET /v1/artifacts/ID`, `PUT` | the file; nobody sees it before what is said of it was put |
//! | `GET /v1/artifacts/ID/statements`, `PUT` | what is said of an artifact without a tag |
//!
//! `PUT` needs the token; without one nobody may put anything. `GET` needs it where that was asked
//! for.

use std::sync::{Arc, Mutex, PoisonError};

use auto_json::{Record, Value};
use auto_registry::{
    Class, Parcel, Policy, Reference, Registry, RegistryError, TagLog, TagName, read_bundle, write_bundle,
};
use auto_schema::digest::Digest;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use tokio::sync::Semaphore;

use crate::http::{Bounds, Hidden, Problem, health, json, presented, router};

/// Who may do what, and how much.
#[derive(Clone)]
pub struct Desk {
    /// What is served.
    pub registry: Registry,
    /// What an artifact has to bring, on its way in and out.
    pub policy: Policy,
    /// Whoever has it may put.
    pub token: Option<Hidden>,
    /// Whether reading needs the token too.
    pub private: bool,
    /// Bounds of bodies.
    pub bounds: Bounds,
}

/// How much is read, checked and written at the same time; others wait.
const AT_WORK: usize = 16;

/// The desk, and what is kept for it.
struct Office {
    desk: Desk,
    work: Semaphore,
    /// The list of the registry as it was last: making one looks at every byte.
    listed: Mutex<Option<(Digest, Record)>>,
}

type Served = Result<Response, Problem>;
type Shared = State<Arc<Office>>;

/// The routes, with `/health` and `/ready`.
pub fn routes(desk: Desk) -> Router {
    let office = Arc::new(Office { desk, work: Semaphore::new(AT_WORK), listed: Mutex::new(None) });
    let ready = office.clone();
    let served: Router<Arc<Office>> = Router::new()
        .route("/v1/list", get(list))
        .route("/v1/keys", get(get_keys).put(put_keys))
        .route("/v1/tags/{tag}/{*name}", get(get_tag).put(put_tag))
        .route("/v1/artifacts/{id}", get(get_artifact).put(put_artifact))
        .route("/v1/artifacts/{id}/statements", get(get_statements).put(put_statements));
    let ready = move || ready.desk.registry.version().map(|_| Record::new()).map_err(problem);
    health(router().merge(served.with_state(office)), Arc::new(ready))
}

async fn list(State(office): Shared, headers: HeaderMap) -> Served {
    office.desk.let_read(&headers)?;
    office.do_work(Office::list).await.map(object)
}

async fn get_keys(State(office): Shared, headers: HeaderMap) -> Served {
    office.desk.let_read(&headers)?;
    let keys = office.do_work(|office| Ok(office.desk.registry.keys()?.statements().to_vec())).await?;
    Ok(object(Record::new().with("keys", String::from_utf8_lossy(&write_bundle(&keys)).into_owned())))
}

async fn put_keys(State(office): Shared, headers: HeaderMap, body: Body) -> Served {
    office.desk.let_write(&headers)?;
    let body = office.desk.bounds.read_body(body).await?;
    let taken = office.do_work(move |office| office.desk.registry.merge_keys(&read_bundle(&text(&body, "keys")?)?));
    Ok(object(Record::new().with("taken", taken.await?)))
}

async fn get_tag(State(office): Shared, Path((tag, name)): Path<(String, String)>, headers: HeaderMap) -> Served {
    office.desk.let_read(&headers)?;
    let reference = Reference::Tag(named(&tag, &name)?);
    office
        .do_work(move |office| office.desk.registry.pack(&reference, &office.desk.policy))
        .await
        .map(|parcel| object(papers(&parcel)))
}

async fn get_statements(State(office): Shared, Path(id): Path<String>, headers: HeaderMap) -> Served {
    office.desk.let_read(&headers)?;
    let reference = Reference::Id(digest(&id)?);
    office
        .do_work(move |office| office.desk.registry.pack(&reference, &office.desk.policy))
        .await
        .map(|parcel| object(papers(&parcel)))
}

async fn get_artifact(State(office): Shared, Path(id): Path<String>, headers: HeaderMap) -> Served {
    office.desk.let_read(&headers)?;
    let reference = Reference::Id(digest(&id)?);
    let found = office.do_work(move |office| office.desk.registry.get(&reference, &office.desk.policy)).await?;
    let mut response = Response::new(Body::from(found.bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/wasm"));
    Ok(response)
}

async fn put_artifact(State(office): Shared, Path(id): Path<String>, headers: HeaderMap, body: Body) -> Served {
    // Before a byte of the body is read.
    office.desk.let_write(&headers)?;
    let id = digest(&id)?;
    let bytes = office.desk.bounds.read_body(body).await?;
    if Digest::of(&bytes) != id {
        let message = format!("these are not the bytes of {id}");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "digest-mismatch", message).help("send them again"));
    }
    office.do_work(move |office| office.desk.registry.stage(&bytes)).await?;
    Ok(json(StatusCode::CREATED, Value::from(Record::new().with("id", id.to_string())).to_string()))
}

async fn put_tag(
    State(office): Shared,
    Path((tag, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Served {
    office.desk.let_write(&headers)?;
    let tag = named(&tag, &name)?;
    let body = office.desk.bounds.read_body(body).await?;
    let added = office.do_work(move |office| {
        let log = TagLog::parse(&tag, &text(&body, "log")?)?;
        let id = log.head().id;
        office.desk.take(id, Some(log), &body)
    });
    added.await.map(object)
}

async fn put_statements(State(office): Shared, Path(id): Path<String>, headers: HeaderMap, body: Body) -> Served {
    office.desk.let_write(&headers)?;
    let id = digest(&id)?;
    let body = office.desk.bounds.read_body(body).await?;
    office.do_work(move |office| office.desk.take(id, None, &body)).await.map(object)
}

impl Desk {
    fn let_read(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if self.private { self.let_write(headers) } else { Ok(()) }
    }

    fn let_write(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(token) = &self.token else {
            let message = "this registry takes nothing: it was started without a token";
            return Err(Problem::new(StatusCode::FORBIDDEN, "read-only", message).help("start it with --token-file"));
        };
        let known = presented(headers).and_then(|shown| Hidden::find(shown, std::iter::once((token, ()))));
        known.ok_or_else(|| {
            let problem = Problem::new(StatusCode::UNAUTHORIZED, "bad-token", "this needs the token of the registry");
            Problem { closes: true, ..problem.help("give it with --token-file") }
        })
    }

    fn take(&self, id: Digest, log: Option<TagLog>, body: &[u8]) -> auto_registry::Result<Record> {
        let artifact = self.registry.staged(id).map_err(|error| match error.code {
            "object-missing" => RegistryError::refused("unknown-id", format!("the artifact {id} was not put")),
            _ => error,
        })?;
        let parcel = Parcel {
            artifact,
            envelopes: read_bundle(&text(body, "statements")?)?,
            keys: read_bundle(&text(body, "keys")?)?,
            log,
        };
        let added = self.registry.receive(&parcel, &self.policy)?;
        Ok(Record::new().with("id", added.id.to_string()).with("new", added.new))
    }
}

impl Office {
    /// Runs what reads and writes files where it holds nobody up, and not too much of it at once.
    async fn do_work<T: Send + 'static>(
        self: &Arc<Office>,
        work: impl FnOnce(&Office) -> auto_registry::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        // It is never closed.
        let _turn = self.work.acquire().await;
        let office = self.clone();
        match tokio::task::spawn_blocking(move || work(&office)).await {
            Ok(done) => done.map_err(problem),
            Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "panic", "the request could not be served")),
        }
    }

    fn list(&self) -> auto_registry::Result<Record> {
        let version = self.desk.registry.version()?;
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = listed.as_ref().filter(|(of, _)| *of == version) {
            return Ok(known.clone());
        }
        let listing = self.desk.registry.list(&self.desk.policy)?;
        let usable = listing.artifacts.iter().filter(|(_, found)| found.as_ref().is_ok_and(|one| one.accept().is_ok()));
        let artifacts: Vec<Value> = usable.map(|(id, _)| id.to_string().into()).collect();
        let tags = listing.tags.iter().filter_map(|one| {
            let (number, id) = one.head.as_ref().ok()?;
            Some((one.tag.to_string(), Record::new().with("number", *number).with("id", id.to_string()).into()))
        });
        let record = Record::new().with("artifacts", artifacts).with("tags", tags.collect::<Record>());
        *listed = Some((version, record.clone()));
        Ok(record)
    }
}

fn object(fields: Record) -> Response {
    json(StatusCode::OK, Value::from(fields).to_string())
}

fn papers(parcel: &Parcel) -> Record {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let fields = Record::new()
        .with("keys", text(write_bundle(&parcel.keys)))
        .with("statements", text(write_bundle(&parcel.envelopes)));
    match &parcel.log {
        Some(log) => fields.with("log", text(log.to_bytes())),
        None => fields,
    }
}

fn text(body: &[u8], key: &str) -> auto_registry::Result<Vec<u8>> {
    let value = Value::parse(body).ok();
    let text = value.as_ref().and_then(|value| value.get(key)?.as_text());
    text.map(|text| text.as_bytes().to_vec())
        .ok_or_else(|| RegistryError::usage("bad-body", format!("the body is no object with a text `{key}`")))
}

fn named(tag: &str, name: &str) -> Result<TagName, Problem> {
    format!("{name}:{tag}").parse().map_err(problem)
}

fn digest(id: &str) -> Result<Digest, Problem> {
    let bad = || Problem::new(StatusCode::BAD_REQUEST, "bad-id", "an id has 64 hex digits, in small letters");
    Digest::parse(id).ok_or_else(bad)
}

fn problem(error: RegistryError) -> Problem {
    let status = match (error.code, error.class) {
        ("unknown-name" | "unknown-id", _) => StatusCode::NOT_FOUND,
        ("stale-tag" | "tag-forked", _) => StatusCode::CONFLICT,
        ("too-large", _) => StatusCode::PAYLOAD_TOO_LARGE,
        ("unwritable", _) => StatusCode::INSUFFICIENT_STORAGE,
        ("registry-damaged" | "object-damaged" | "object-missing", _) => StatusCode::INTERNAL_SERVER_ERROR,
        (_, Class::Usage) => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let problem = Problem::new(status, error.code, error.message);
    match error.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
