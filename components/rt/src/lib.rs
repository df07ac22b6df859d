//! Auto component: rt.
#![no_std]

pub mod kernels;
