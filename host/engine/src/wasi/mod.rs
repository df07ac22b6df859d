//! WASI 0.2 for passes written with a language runtime: all of it is there and nothing is
//! granted. No files, no network, no environment, no arguments; a clock that stands still, one
//! fixed row of random numbers; stdin is empty, stdout and stderr go to the log of the call.
//!
//! Nothing waits: whatever can be waited for is ready, so a sleep returns at once. And what a
//! pass is handed costs the host nothing: streams and pollables are all alike, so they are
//! plain numbers, and wasmtime bounds how many handles a call may hold.
//!
//! Only components that import WASI are linked with this. What could wait, vary, or take memory
//! is ours ([`own`]); the rest is `wasmtime-wasi`'s, which has nothing to give away.

mod own;

use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::cli::{WasiCli, WasiCliCtx, WasiCliCtxView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::bindings::sync::sockets::udp_create_socket;
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets, sync};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtx, WasiSocketsCtxView};

use crate::call::State;
use crate::log::Log;
use crate::name::InterfaceName;
use own::{Line, Misuse, Own, Random, View};

/// The newest version that is served, with all before it of 0.2.
const SERVED: semver::Version = semver::Version::new(0, 2, 12);

/// The interfaces that are served, by package.
const INTERFACES: &[(&str, &[&str])] = &[
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stderr",
            "stdin",
            "stdout",
            "terminal-input",
            "terminal-output",
            "terminal-stderr",
            "terminal-stdin",
            "terminal-stdout",
        ],
    ),
    ("wasi:clocks", &["monotonic-clock", "wall-clock"]),
    ("wasi:filesystem", &["preopens", "types"]),
    ("wasi:io", &["error", "poll", "streams"]),
    ("wasi:random", &["insecure", "insecure-seed", "random"]),
    (
        "wasi:sockets",
        &["instance-network", "ip-name-lookup", "network", "tcp", "tcp-create-socket", "udp", "udp-create-socket"],
    ),
];

/// Whether an import is served; the error is a code and what is wrong with it.
pub(crate) fn serves(import: &str) -> Result<(), (&'static str, String)> {
    let name = InterfaceName::parse(import);
    let known = |name: &InterfaceName| {
        let package = INTERFACES.iter().find(|(package, _)| *package == name.package);
        package.is_some_and(|(_, interfaces)| interfaces.contains(&name.interface.as_str()))
    };
    let Some(name) = name.filter(known) else {
        let packages = INTERFACES.iter().map(|(package, _)| *package).collect::<Vec<_>>().join(", ");
        let message = format!(
            "imports {import}, which no pass is lent; of WASI there are {packages}, and they grant nothing: leave out what needs more"
        );
        return Err(("unknown-import", message));
    };
    let version = name.version.as_ref();
    if version
        .is_some_and(|version| version.pre.is_empty() && version.minor == 2 && version.cmp_precedence(&SERVED).is_le())
    {
        return Ok(());
    }
    let message = format!(
        "imports {import}, and this host lends {}/{}@{SERVED} and what is older of 0.2; build it for such a version, or upgrade auto-host",
        name.package, name.interface
    );
    Err(("version", message))
}

/// Why a call ended in a function of WASI, if it did.
pub(crate) fn ended(error: &wasmtime::Error) -> Option<String> {
    match error.downcast_ref() {
        Some(I32Exit(status)) => Some(format!("it exited with status {status} (wasi:cli/exit); a pass has to return")),
        None => error.downcast_ref::<Misuse>().map(ToString::to_string),
    }
}

/// The state of one call.
pub(crate) struct Wasi {
    cli: WasiCliCtx,
    filesystem: WasiFilesystemCtx,
    sockets: WasiSocketsCtx,
    table: ResourceTable,
    random: Random,
    stdout: Line,
    stderr: Line,
}

impl Default for Wasi {
    fn default() -> Wasi {
        Wasi {
            cli: WasiCliCtx::default(),
            filesystem: WasiFilesystemCtx::default(),
            sockets: WasiSocketsCtx::default(),
            table: ResourceTable::new(),
            random: Random::new(),
            stdout: Line::new("stdout"),
            stderr: Line::new("stderr"),
        }
    }
}

impl Wasi {
    fn cli(&mut self) -> WasiCliCtxView<'_> {
        WasiCliCtxView { ctx: &mut self.cli, table: &mut self.table }
    }

    fn filesystem(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView { ctx: &mut self.filesystem, table: &mut self.table }
    }

    fn sockets(&mut self) -> WasiSocketsCtxView<'_> {
        WasiSocketsCtxView { ctx: &mut self.sockets, table: &mut self.table }
    }

    /// Logs what was written since the last end of a line.
    pub(crate) fn end_lines(&mut self, log: &mut Log) {
        self.stdout.end(log);
        self.stderr.end(log);
    }
}

/// Binds every interface that is served.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let own: fn(&mut State) -> View<'_> = |state| View::of(state.wasi());
    poll::add_to_linker::<State, Own>(linker, own)?;
    streams::add_to_linker::<State, Own>(linker, own)?;
    cli::stdin::add_to_linker::<State, Own>(linker, own)?;
    cli::stdout::add_to_linker::<State, Own>(linker, own)?;
    cli::stderr::add_to_linker::<State, Own>(linker, own)?;
    wall_clock::add_to_linker::<State, Own>(linker, own)?;
    monotonic_clock::add_to_linker::<State, Own>(linker, own)?;
    random::random::add_to_linker::<State, Own>(linker, own)?;
    random::insecure::add_to_linker::<State, Own>(linker, own)?;
    random::insecure_seed::add_to_linker::<State, Own>(linker, own)?;
    sockets::network::add_to_linker::<State, Own>(linker, &sockets::network::LinkOptions::default(), own)?;
    sockets::instance_network::add_to_linker::<State, Own>(linker, own)?;
    sockets::ip_name_lookup::add_to_linker::<State, Own>(linker, own)?;
    sockets::tcp_create_socket::add_to_linker::<State, Own>(linker, own)?;
    udp_create_socket::add_to_linker::<State, Own>(linker, own)?;
    own::errors(linker)?;

    let of_cli: fn(&mut State) -> WasiCliCtxView<'_> = |state| state.wasi().0.cli();
    cli::environment::add_to_linker::<State, WasiCli>(linker, of_cli)?;
    cli::exit::add_to_linker::<State, WasiCli>(linker, of_cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(linker, of_cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(linker, of_cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, of_cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, of_cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, of_cli)?;

    let of_files: fn(&mut State) -> WasiFilesystemCtxView<'_> = |state| state.wasi().0.filesystem();
    filesystem::preopens::add_to_linker::<State, WasiFilesystem>(linker, of_files)?;
    sync::filesystem::types::add_to_linker::<State, WasiFilesystem>(linker, of_files)?;

    let of_sockets: fn(&mut State) -> WasiSocketsCtxView<'_> = |state| state.wasi().0.sockets();
    sync::sockets::tcp::add_to_linker::<State, WasiSockets>(linker, of_sockets)?;
    sync::sockets::udp::add_to_linker::<State, WasiSockets>(linker, of_sockets)
}
