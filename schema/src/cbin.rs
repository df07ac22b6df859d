//! The container.
