//! A program that does nothing: what starting any program costs. Built alone and static, by
//! `cargo xtask bench hook`.

fn main() {}
