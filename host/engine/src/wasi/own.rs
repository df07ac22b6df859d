//! The interfaces that could wait, vary, or take memory, made so that they do not.

use std::fmt;

use wasmtime::component::{HasData, Linker, Resource, ResourceType};
use wasmtime::{Error, Result, StoreContextMut};
use wasmtime_wasi::p2::bindings::cli::{stderr, stdin, stdout};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::{self, Datetime};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{self, ResolveAddressStream};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddress, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::{instance_network, tcp_create_socket};
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::bindings::sync::sockets::udp_create_socket;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, IoError, SocketError, SocketResult, StreamError, StreamResult,
    TcpSocket, UdpSocket,
};

use super::Wasi;
use crate::call::State;
use crate::log::Log;

// Results are remembered by component and arguments, not by these: whoever changes one
// changes the version of the memo too.

/// The instant at which the clock stands: 2025-01-01T00:00:00Z, in seconds.
const NOW: u64 = 1_735_689_600;

/// The same of the clock that only counts, in nanoseconds. Not near zero, from where a
/// program could not look back.
const COUNT: u64 = 86_400_000_000_000;

/// Where the row of random numbers starts.
const SEED: u64 = 0x4155_544f_5345_4544;

/// The most random bytes in one piece.
const MAX_RANDOM: u64 = 1 << 20;

/// The most bytes of one write.
const MAX_WRITE: u64 = 64 << 10;

/// The longest line in bytes; a longer one is cut into several.
const MAX_LINE: usize = 4 << 10;

/// Streams, as the numbers that stand for them in a component's hands.
const STDIN: u32 = 0;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

/// The number of every pollable, and that of the network.
const READY: u32 = 0;
const NETWORK: u32 = 0;

/// A function of WASI was called in a way that it does not allow.
#[derive(Debug)]
pub(super) struct Misuse(String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

fn misuse(what: impl Into<String>) -> Error {
    Error::from(Misuse(what.into()))
}

/// Says that the interfaces below are served by a [`View`].
pub(super) struct Own;

impl HasData for Own {
    type Data<'a> = View<'a>;
}

/// What of a call's state is needed here.
pub(super) struct View<'a> {
    wasi: &'a mut Wasi,
    log: &'a mut Log,
}

impl<'a> View<'a> {
    pub(super) fn of((wasi, log): (&'a mut Wasi, &'a mut Log)) -> View<'a> {
        View { wasi, log }
    }

    fn write(&mut self, stream: &Resource<DynOutputStream>, bytes: &[u8]) -> StreamResult<()> {
        if bytes.len() as u64 > MAX_WRITE {
            return Err(StreamError::Trap(misuse("it wrote more at once than `check-write` allowed")));
        }
        let line = if stream.rep() == STDERR { &mut self.wasi.stderr } else { &mut self.wasi.stdout };
        line.write(bytes, self.log);
        match self.log.excess() {
            None => Ok(()),
            Some(_) => Err(StreamError::Trap(misuse("it wrote more to the log than it may"))),
        }
    }
}

/// `wasi:io/error`: nothing here fails in a way that has one.
pub(super) fn errors(linker: &mut Linker<State>) -> Result<()> {
    let mut instance = linker.instance(&format!("wasi:io/error@{}", super::SERVED))?;
    instance.resource("error", ResourceType::host::<IoError>(), |_, _| Ok(()))?;
    let text = |_: StoreContextMut<'_, State>, (_,): (Resource<IoError>,)| Ok((String::new(),));
    instance.func_wrap("[method]error.to-debug-string", text)
}

/// A line of output that has not ended yet.
pub(super) struct Line {
    stream: &'static str,
    bytes: Vec<u8>,
}

impl Line {
    pub(super) fn new(stream: &'static str) -> Line {
        Line { stream, bytes: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8], log: &mut Log) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            for part in piece.chunks(MAX_LINE) {
                if self.bytes.len() + part.len() > MAX_LINE {
                    self.end(log);
                }
                self.bytes.extend_from_slice(part);
            }
            if piece.ends_with(b"\n") {
                self.bytes.pop();
                // An empty line is one, too.
                self.log(log);
            }
        }
    }

    /// Logs what there is of it.
    pub(super) fn end(&mut self, log: &mut Log) {
        if !self.bytes.is_empty() {
            self.log(log);
        }
    }

    fn log(&mut self, log: &mut Log) {
        log.push(self.stream, &String::from_utf8_lossy(&self.bytes));
        self.bytes.clear();
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014, figure 9): the same row in every call.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Random {
        Random(SEED)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        if length > MAX_RANDOM {
            return Err(misuse(format!("it asked for {length} random bytes at once; there are at most {MAX_RANDOM}")));
        }
        let words = std::iter::repeat_with(|| self.next().to_le_bytes());
        Ok(words.flatten().take(length as usize).collect())
    }
}

impl random::Host for View<'_> {
    fn get_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.wasi.random.bytes(length)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        Ok(self.wasi.random.next())
    }
}

impl insecure::Host for View<'_> {
    fn get_insecure_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.wasi.random.bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        Ok(self.wasi.random.next())
    }
}

impl insecure_seed::Host for View<'_> {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        Ok((self.wasi.random.next(), self.wasi.random.next()))
    }
}

impl wall_clock::Host for View<'_> {
    fn now(&mut self) -> Result<Datetime> {
        Ok(Datetime { seconds: NOW, nanoseconds: 0 })
    }

    fn resolution(&mut self) -> Result<Datetime> {
        Ok(Datetime { seconds: 1, nanoseconds: 0 })
    }
}

impl monotonic_clock::Host for View<'_> {
    fn now(&mut self) -> Result<u64> {
        Ok(COUNT)
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, _: u64) -> Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn subscribe_duration(&mut self, _: u64) -> Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }
}

impl poll::Host for View<'_> {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> Result<Vec<u32>> {
        match pollables.len() as u32 {
            0 => Err(misuse("it polls an empty list, which would take for ever")),
            length => Ok((0..length).collect()),
        }
    }
}

impl poll::HostPollable for View<'_> {
    fn ready(&mut self, _: Resource<DynPollable>) -> Result<bool> {
        Ok(true)
    }

    fn block(&mut self, _: Resource<DynPollable>) -> Result<()> {
        Ok(())
    }

    fn drop(&mut self, _: Resource<DynPollable>) -> Result<()> {
        Ok(())
    }
}

impl stdin::Host for View<'_> {
    fn get_stdin(&mut self) -> Result<Resource<DynInputStream>> {
        Ok(Resource::new_own(STDIN))
    }
}

impl stdout::Host for View<'_> {
    fn get_stdout(&mut self) -> Result<Resource<DynOutputStream>> {
        Ok(Resource::new_own(STDOUT))
    }
}

impl stderr::Host for View<'_> {
    fn get_stderr(&mut self) -> Result<Resource<DynOutputStream>> {
        Ok(Resource::new_own(STDERR))
    }
}

impl streams::Host for View<'_> {
    fn convert_stream_error(&mut self, error: StreamError) -> Result<streams::StreamError> {
        match error {
            StreamError::Closed => Ok(streams::StreamError::Closed),
            StreamError::LastOperationFailed(error) | StreamError::Trap(error) => Err(error),
        }
    }
}

/// There is one, stdin, and it is at its end.
impl streams::HostInputStream for View<'_> {
    fn read(&mut self, _: Resource<DynInputStream>, _: u64) -> StreamResult<Vec<u8>> {
        Err(StreamError::Closed)
    }

    fn blocking_read(&mut self, _: Resource<DynInputStream>, _: u64) -> StreamResult<Vec<u8>> {
        Err(StreamError::Closed)
    }

    fn skip(&mut self, _: Resource<DynInputStream>, _: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn blocking_skip(&mut self, _: Resource<DynInputStream>, _: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn subscribe(&mut self, _: Resource<DynInputStream>) -> Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn drop(&mut self, _: Resource<DynInputStream>) -> Result<()> {
        Ok(())
    }
}

impl streams::HostOutputStream for View<'_> {
    fn check_write(&mut self, _: Resource<DynOutputStream>) -> StreamResult<u64> {
        Ok(MAX_WRITE)
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        View::write(self, &stream, &bytes)
    }

    fn blocking_write_and_flush(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        View::write(self, &stream, &bytes)
    }

    fn flush(&mut self, _: Resource<DynOutputStream>) -> StreamResult<()> {
        Ok(())
    }

    fn blocking_flush(&mut self, _: Resource<DynOutputStream>) -> StreamResult<()> {
        Ok(())
    }

    fn subscribe(&mut self, _: Resource<DynOutputStream>) -> Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, length: u64) -> StreamResult<()> {
        // One more than is allowed is as good as any number of them.
        View::write(self, &stream, &vec![0; length.min(MAX_WRITE + 1) as usize])
    }

    fn blocking_write_zeroes_and_flush(&mut self, stream: Resource<DynOutputStream>, length: u64) -> StreamResult<()> {
        streams::HostOutputStream::write_zeroes(self, stream, length)
    }

    fn splice(&mut self, _: Resource<DynOutputStream>, _: Resource<DynInputStream>, _: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn blocking_splice(
        &mut self,
        _: Resource<DynOutputStream>,
        _: Resource<DynInputStream>,
        _: u64,
    ) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn drop(&mut self, _: Resource<DynOutputStream>) -> Result<()> {
        Ok(())
    }
}

impl network::Host for View<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> Result<ErrorCode> {
        error.downcast()
    }

    fn network_error_code(&mut self, _: Resource<IoError>) -> Result<Option<ErrorCode>> {
        Ok(None)
    }
}

impl network::HostNetwork for View<'_> {
    fn drop(&mut self, _: Resource<Network>) -> Result<()> {
        Ok(())
    }
}

impl instance_network::Host for View<'_> {
    fn instance_network(&mut self) -> Result<Resource<Network>> {
        Ok(Resource::new_own(NETWORK))
    }
}

impl ip_name_lookup::Host for View<'_> {
    fn resolve_addresses(&mut self, _: Resource<Network>, _: String) -> SocketResult<Resource<ResolveAddressStream>> {
        Err(ErrorCode::AccessDenied.into())
    }
}

/// There is none: no name is looked up.
impl ip_name_lookup::HostResolveAddressStream for View<'_> {
    fn resolve_next_address(&mut self, _: Resource<ResolveAddressStream>) -> SocketResult<Option<IpAddress>> {
        Ok(None)
    }

    fn subscribe(&mut self, _: Resource<ResolveAddressStream>) -> Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn drop(&mut self, _: Resource<ResolveAddressStream>) -> Result<()> {
        Ok(())
    }
}

impl tcp_create_socket::Host for View<'_> {
    fn create_tcp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        Err(ErrorCode::AccessDenied.into())
    }
}

impl udp_create_socket::Host for View<'_> {
    fn create_udp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        Err(ErrorCode::AccessDenied.into())
    }
}
