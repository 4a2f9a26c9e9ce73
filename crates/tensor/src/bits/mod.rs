//! The bits of the element types: conversion to and from f64, rounding once.

mod element;
mod fp8;
mod round;

pub use element::{Element, decode, encode, round_all, round_to};
pub use fp8::{F8E4m3, F8E5m2, Overflow};
