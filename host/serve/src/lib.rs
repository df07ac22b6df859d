//! HTTP. [`http`] is what every server of ours stands on: bounds on connections, headers, bodies
//! and time, errors as JSON, and an end that drops nothing. [`run`] answers inputs with artifacts,
//! [`registry`] hands out and takes in artifacts.
//!
//! Nothing here knows the command line: it brings what is served, and who stands behind it.

pub mod http;
pub mod registry;
pub mod run;
