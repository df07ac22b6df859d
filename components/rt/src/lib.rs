//! The runtime inside every artifact.
//!
//! [`kernels`] is what the language and the guard are made of: natively called by the
//! evaluator, in wasm by compiled programs. The rest, behind the feature `artifact`, puts
//! values in an arena and gives the kernels a wasm signature over them; `emit` builds that
//! once, links what a program reaches into its artifact, and drops the remainder.
#![no_std]

pub mod kernels;

#[cfg(all(feature = "artifact", target_arch = "wasm32"))]
mod artifact;
