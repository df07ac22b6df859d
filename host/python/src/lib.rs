//! The native half of the Python package `auto_cbin`; `package/__init__.py` is the other, and says what
//! everything means.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use auto_runtime::{CallError, Limits, Novelty, Outcome, Program, Sandbox, Session};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple, PyType};

/// A compiled artifact, and sessions that wait to be used again. Threads run at the same time, each in
/// a session of its own.
#[pyclass(frozen, module = "auto_cbin._native")]
struct Native {
    program: Program,
    waiting: Mutex<Vec<Session>>,
}

#[pymethods]
impl Native {
    #[new]
    #[pyo3(signature = (file, *, fuel=None, memory=None, deadline_ms=None, max_input=None))]
    fn new(
        py: Python<'_>,
        file: &[u8],
        fuel: Option<u64>,
        memory: Option<usize>,
        deadline_ms: Option<u64>,
        max_input: Option<usize>,
    ) -> PyResult<Native> {
        let usual = Limits::default();
        let limits = Limits {
            fuel: fuel.unwrap_or(usual.fuel),
            memory: memory.unwrap_or(usual.memory),
            deadline: deadline_ms.map_or(usual.deadline, Duration::from_millis),
            input: max_input.unwrap_or(usual.input),
            ..usual
        };
        let file = file.to_vec();
        let loaded = py.detach(|| Program::load(&Sandbox::new(limits)?, &file));
        let program = loaded.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Native { program, waiting: Mutex::default() })
    }

    /// The SHA-256 of the file.
    #[getter]
    fn id(&self) -> String {
        self.program.id().to_string()
    }

    /// What the artifact says about itself, a JSON text.
    #[getter]
    fn manifest(&self) -> String {
        self.program.manifest().to_value().canonical().into_string()
    }

    fn run<'py>(&self, py: Python<'py>, input: &str) -> PyResult<Bound<'py, PyTuple>> {
        let outcome = self.called(py, |session| session.run(input))?;
        told(py, outcome)
    }

    #[pyo3(signature = (state, reply, error))]
    fn resume<'py>(
        &self,
        py: Python<'py>,
        state: &[u8],
        reply: Option<&str>,
        error: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let reply = match (reply, error) {
            (Some(reply), None) => Ok(reply),
            (None, Some(error)) => Err(error),
            _ => return Err(PyTypeError::new_err("give either a reply or an error")),
        };
        let outcome = self.called(py, |session| session.resume(state, reply))?;
        told(py, outcome)
    }

    fn assess<'py>(&self, py: Python<'py>, input: &str) -> PyResult<Bound<'py, PyTuple>> {
        let Novelty { reason, score, limit } = self.called(py, |session| session.assess(input))?;
        (reason, score, limit).into_pyobject(py)
    }
}

impl Native {
    /// Calls without the interpreter's lock.
    fn called<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Session) -> Result<T, CallError> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| {
            let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let known = waiting().pop();
            let mut session = known.unwrap_or_else(|| self.program.session());
            let result = call(&mut session);
            waiting().push(session);
            result
        });
        result.map_err(|error| failed(py, &error))
    }
}

/// An outcome as the package takes it apart.
fn told(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyTuple>> {
    match outcome {
        Outcome::Answer(text) => ("answer", text).into_pyobject(py),
        Outcome::Abstain { reason, score, limit } => ("abstain", reason, score, limit).into_pyobject(py),
        Outcome::Request { capability, input, state } => {
            ("request", capability, input, PyBytes::new(py, &state)).into_pyobject(py)
        }
    }
}

/// `auto_cbin.BehaviorError` with the code and the words of a call that was not answered.
fn failed(py: Python<'_>, error: &CallError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS
        .import(py, "auto_cbin", "BehaviorError")
        .and_then(|class| class.call1((error.code(), error.message.as_str())));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Native>()
}
