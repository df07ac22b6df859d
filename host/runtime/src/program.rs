//! A sealed artifact, and sessions that run it.

use std::sync::{Arc, OnceLock};

use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use auto_schema::ir::Graph;
use auto_schema::manifest::Manifest;

use crate::abi::bad;
use crate::error::{CallError, Class, LoadError};
use crate::live::{Live, check_input};
use crate::module::{Module, Novelty, Outcome, unreadable};
use crate::sandbox::{Lane, Sandbox};

/// An intact, compiled artifact. Cheap to clone.
#[derive(Clone)]
pub struct Program {
    sandbox: Sandbox,
    sealed: Arc<Sealed>,
    code: Arc<Code>,
}

/// The module, compiled for the lanes it runs in.
struct Code {
    file: Vec<u8>,
    /// Only for code that is made to be run over and over.
    swift: Option<Module>,
    /// Compiled when first needed where there is a swift one.
    metered: OnceLock<Result<Module, LoadError>>,
}

/// What the file holds beside the code.
struct Sealed {
    id: Digest,
    manifest: Manifest,
    graph: Option<Graph>,
}

impl Program {
    /// Reads a `.cbin`, checks its digest, manifest and imports, and compiles it.
    pub fn load(sandbox: &Sandbox, file: &[u8]) -> Result<Program, LoadError> {
        let Cbin { id, manifest, graph, .. } = Cbin::read(file).map_err(|damage| unreadable(damage, file))?;
        let swift = manifest.reusable && sandbox.has_swift_lane();
        let code = Code {
            file: file.to_vec(),
            swift: swift.then(|| Module::load(sandbox, file, Lane::Swift)).transpose()?,
            metered: OnceLock::new(),
        };
        let program = Program {
            sandbox: sandbox.clone(),
            sealed: Arc::new(Sealed { id, manifest, graph }),
            code: Arc::new(code),
        };
        if !swift {
            program.compiled(Lane::Metered)?;
        }
        Ok(program)
    }

    /// What the artifact says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.sealed.manifest
    }

    /// The SHA-256 of the file.
    pub fn id(&self) -> Digest {
        self.sealed.id
    }

    /// The program it was compiled from; none for a module of somebody's own.
    pub fn graph(&self) -> Option<&Graph> {
        self.sealed.graph.as_ref()
    }

    #[inline(always)]
    fn compiled(&self, lane: Lane) -> Result<&Module, LoadError> {
        match (lane, &self.code.swift) {
            (Lane::Swift, Some(module)) => Ok(module),
            _ => {
                let make = || Module::load(&self.sandbox, &self.code.file, Lane::Metered);
                self.code.metered.get_or_init(make).as_ref().map_err(Clone::clone)
            }
        }
    }

    /// A session that keeps its instance between calls where the manifest says that the
    /// code was made for it, and makes one for each call otherwise.
    pub fn session(&self) -> Session {
        let ours = self.manifest().reusable;
        Session { program: self.clone(), warm: ours, checked: !ours, live: None, detour: 0 }
    }

    /// A session that makes an instance for each call, whatever the manifest says.
    pub fn isolated_session(&self) -> Session {
        Session { program: self.clone(), warm: false, checked: true, live: None, detour: 0 }
    }
}

/// Runs a program, one call after the other. For calls at the same time, take several.
///
/// No call can influence a later one: an instance is kept only if the code was generated
/// so that nothing survives a call, and never after a call that failed in the guest.
pub struct Session {
    program: Program,
    warm: bool,
    checked: bool,
    live: Option<(Lane, Live)>,
    /// Calls that stay in the metered lane, after one that was too long for the other.
    detour: u32,
}

/// How many calls a session does not try the swift lane after it was too slow there.
const DETOUR: u32 = 256;

impl Session {
    /// Whether answers are checked to be canonical JSON. They are where the manifest does
    /// not say that our emit made the code, whose writer gives nothing else; a file that
    /// says so falsely could answer anything anyway. Bounds, discriminants and UTF-8 are
    /// checked always.
    pub fn checked(mut self, checked: bool) -> Session {
        self.checked = checked;
        self
    }

    /// The program it runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the behaviour on a JSON text.
    pub fn run(&mut self, input: &str) -> Result<Outcome, CallError> {
        let checked = self.checked;
        let outcome = self.call(input.len(), |live, module| live.run(module, input, checked));
        self.permit(&outcome)?;
        outcome
    }

    /// Runs the behaviour if that takes no longer than an instant, some 20 milliseconds at most:
    /// none where it took longer, trapped, or is not known to stay within that. [`Session::run`]
    /// then decides, in its own time.
    pub fn run_briefly(&mut self, input: &str) -> Option<Result<Outcome, CallError>> {
        if let Err(error) = check_input(self.program.sandbox.limits(), input.len()) {
            return Some(Err(error));
        }
        if self.program.code.swift.is_none() || self.detour > 0 {
            self.detour = self.detour.saturating_sub(1);
            return None;
        }
        let checked = self.checked;
        match self.call_in(Lane::Swift, &|live: &mut Live, module: &Module| live.run(module, input, checked)) {
            outcome @ Ok(_) => Some(self.permit(&outcome).and(outcome)),
            Err(CallError { class: Class::Deadline, .. }) => {
                self.detour = DETOUR;
                None
            }
            Err(CallError { class: Class::Trap | Class::OutOfStack, .. }) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Goes on after a request, with the reply (a JSON text) or what went wrong.
    pub fn resume(&mut self, state: &[u8], reply: Result<&str, &str>) -> Result<Outcome, CallError> {
        let checked = self.checked;
        let size = state.len().saturating_add(reply.map_or_else(str::len, str::len));
        let outcome = self.call(size, |live, module| live.resume(module, state, reply, checked));
        self.permit(&outcome)?;
        outcome
    }

    /// What the guard thinks of an input, without running the behaviour.
    pub fn assess(&mut self, input: &str) -> Result<Novelty, CallError> {
        self.call(input.len(), |live, module| live.assess(module, input))
    }

    /// Runs the behaviour on each text, as the results are asked for. A failed call fails
    /// alone.
    pub fn run_batch<'a, I>(&'a mut self, inputs: I) -> impl Iterator<Item = Result<Outcome, CallError>> + 'a
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
        I::IntoIter: 'a,
    {
        inputs.into_iter().map(move |input| self.run(input.as_ref()))
    }

    /// One call: in the swift lane if there is one, and in the metered lane where that is
    /// not enough or the guest trapped, so that what fails always fails by the limits.
    ///
    /// Inlined, like all between it and the guest: moving what was returned from one to the next
    /// takes as long as entering the guest.
    #[inline(always)]
    fn call<T>(
        &mut self,
        size: usize,
        call: impl Fn(&mut Live, &Module) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        check_input(self.program.sandbox.limits(), size)?;
        if self.detour == 0 && self.program.code.swift.is_some() {
            match self.call_in(Lane::Swift, &call) {
                Err(CallError { class: Class::Deadline, .. }) => self.detour = DETOUR,
                Err(CallError { class: Class::Trap | Class::OutOfStack, .. }) => {}
                decided => return decided,
            }
        }
        self.detour = self.detour.saturating_sub(1);
        self.call_in(Lane::Metered, &call)
    }

    /// One call on a warm or a new instance, which is kept only if it may be and the guest
    /// returned as it should.
    #[inline(always)]
    fn call_in<T>(
        &mut self,
        lane: Lane,
        call: &impl Fn(&mut Live, &Module) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let module = self.program.compiled(lane).map_err(|error| CallError::new(Class::Trap, error.to_string()))?;
        let live = match &mut self.live {
            Some((warm, live)) if *warm == lane => live,
            other => &mut other.insert((lane, Live::new(module, self.warm)?)).1,
        };
        let result = call(live, module);
        if !self.warm || result.as_ref().is_err_and(|error| !error.is_said()) {
            self.live = None;
        }
        result
    }

    /// Lets a request through only for what the manifest names.
    #[inline(always)]
    fn permit(&self, outcome: &Result<Outcome, CallError>) -> Result<(), CallError> {
        if let Ok(Outcome::Request { capability, .. }) = outcome {
            let named = &self.program.manifest().capabilities;
            if !named.contains(capability) {
                let named = if named.is_empty() { "none".into() } else { named.join(", ") };
                return Err(bad(format!("a request for `{capability}`; its manifest names {named}")));
            }
        }
        Ok(())
    }
}
