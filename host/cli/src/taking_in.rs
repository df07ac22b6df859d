//! Takes what lies in a store's spool into the store, in a thread of its own, whenever it is told
//! that there is something, and after a while again where the store did not take it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use auto_schema::shown_path;

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::Exit;
use crate::spool::Spool;
use crate::tier0::{self, News};
use crate::verbs::import::take_in;

/// How long a store that did not take something is left alone.
const AGAIN: Duration = Duration::from_secs(2);

/// How long nothing is looked for where nothing is told.
const IDLE: Duration = Duration::from_secs(3_600);

/// The most answers that wait for room.
const MOST_UNWRITTEN: usize = 1_000;

/// The thread. Dropping it takes in what there is, and ends it.
pub struct TakingIn {
    tell: Option<Sender<News>>,
    thread: Option<JoinHandle<()>>,
}

impl TakingIn {
    /// Starts with what was left.
    pub fn start(global: &Global, store: &Path) -> Result<TakingIn, Failure> {
        let toolbox = Toolbox::open(global, &[])?;
        let (tell, told) = channel();
        let (store, spool) = (store.to_owned(), Spool::beside(store));
        let work = move || {
            let mut taking = Taking { toolbox, spool, store, unwritten: Vec::new(), said: String::new() };
            let mut left = taking.take();
            loop {
                match told.recv_timeout(if left { AGAIN } else { IDLE }) {
                    Ok(news) => {
                        taking.note(news);
                        told.try_iter().for_each(|news| taking.note(news));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                left = taking.take();
            }
            taking.end();
        };
        let thread = std::thread::Builder::new().name("auto taking in".into()).spawn(work);
        let thread = thread.map_err(|error| {
            Failure::new(Exit::Refused, "thread", format!("no thread for the store could be started: {error}"))
        })?;
        Ok(TakingIn { tell: Some(tell), thread: Some(thread) })
    }

    /// Whom to tell that something is in the spool.
    pub fn teller(&self) -> Option<Sender<News>> {
        self.tell.clone()
    }
}

/// What the thread works with.
struct Taking {
    toolbox: Toolbox,
    spool: Spool,
    store: PathBuf,
    /// Answers for which the spool had no room.
    unwritten: Vec<String>,
    /// The code of what was last wrong: it is said once.
    said: String,
}

impl Taking {
    fn note(&mut self, news: News) {
        match news {
            News::InSpool => {}
            News::Unwritten(text) if self.unwritten.len() < MOST_UNWRITTEN => self.unwritten.push(text),
            News::Unwritten(_) => eprintln!("an answer of tier 0 is lost: {MOST_UNWRITTEN} wait for room already"),
        }
    }

    /// Takes in what there is; whether something is left.
    fn take(&mut self) -> bool {
        while let Some(text) = self.unwritten.pop() {
            if let Err(failure) = tier0::write(&self.spool, &text) {
                self.unwritten.push(text);
                self.say(&failure, "answers of tier 0 wait for room");
                break;
            }
        }
        let (_, refused) = take_in(&self.toolbox, &self.spool, &self.store, false);
        match refused.first() {
            Some((trace, failure)) => self.say(failure, &format!("{} stays where it is", shown_path(trace))),
            None if self.unwritten.is_empty() => self.said.clear(),
            None => {}
        }
        !refused.is_empty() || !self.unwritten.is_empty()
    }

    fn say(&mut self, failure: &Failure, what: &str) {
        if self.said != failure.code {
            self.said.clone_from(&failure.code);
            eprintln!("{what}: {failure}");
        }
    }

    fn end(mut self) {
        self.take();
        if !self.unwritten.is_empty() {
            eprintln!("{} answers of tier 0 are lost: there was no room for them to the end", self.unwritten.len());
        }
        self.spool.mention();
    }
}

impl Drop for TakingIn {
    fn drop(&mut self) {
        self.tell = None;
        if let Some(thread) = self.thread.take() {
            // It says itself what is left.
            let _ = thread.join();
        }
    }
}
