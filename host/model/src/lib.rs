//! Asking a chat model, and what it costs.
//!
//! One client for OpenAI-compatible servers, Anthropic, Ollama and llama.cpp. It refuses every
//! call that could cost more than what is left under the cap, before anything is sent: the worst
//! case is written to a [`ledger`] and synced first, and what the call really cost is written and
//! synced before anybody sees the reply. A process that is killed in between has spent the worst
//! case. So the ledger may say too much, and never too little.
//!
//! Nothing here believes a server: a reply has a deadline, a size and a form. Keys are in no
//! message, file or record ([`Secret`] cannot be shown).
//!
//! Who asks what, and what becomes of an answer, is the affair of the callers.

mod client;
mod error;
pub mod ledger;
mod money;
mod name;
mod price;
mod secret;
mod settings;
mod transport;
mod wire;

pub use client::{Client, Options, Times};
pub use error::ModelError;
pub use ledger::Ledger;
pub use money::MicroUsd;
pub use name::{ModelId, Provider};
pub use price::{Price, Prices};
pub use secret::Secret;
pub use settings::Environment;
pub use transport::Mode;
pub use wire::{Message, Reply, Request, Role, Usage};
