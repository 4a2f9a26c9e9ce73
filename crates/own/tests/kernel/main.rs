//! Kernels of the user: files, functions of real libraries, functions in Python.

mod files;
mod library;
mod python;
mod trial;
mod warm_calls;
