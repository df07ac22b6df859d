//! The arithmetic of the guard.
