//! What the drivers of searches share, and nothing that knows of a host: amounts in millionths
//! ([`amount`]), strict reading of JSON ([`Fields`], [`Refusal`]), diffs with exact context
//! ([`patch`]), the JSON in what a teacher wrote ([`reply`]), choices that follow from a seed
//! ([`Random`]), commands ([`Command`]).

pub mod amount;
mod command;
mod fields;
pub mod patch;
mod random;
mod refusal;
pub mod reply;

pub use command::Command;
pub use fields::Fields;
pub use random::Random;
pub use refusal::Refusal;
