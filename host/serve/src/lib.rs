//! HTTP. [`http`] is what every server of ours stands on: bounds on connections, headers, bodies
//! and time, errors as JSON, and an end that drops nothing. [`run`] answers inputs with artifacts,
//! [`registry`] hands out and takes in artifacts, [`proxy`] records what passes through it,
//! [`collect`] the spans that are sent to it.
//!
//! Nothing here knows the command line: it brings what is served, and who stands behind it.

mod chain;
pub mod collect;
mod decode;
pub mod http;
pub mod proxy;
pub mod recorder;
pub mod registry;
pub mod run;
