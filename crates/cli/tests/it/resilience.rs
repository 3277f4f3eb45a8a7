//! What a gateway must survive: its own death, upstreams that crash, stall or flood, and
//! downstreams that do the same. Every bound is a constant that stands beside its test.

mod connections;
mod conversations;
mod floods;
mod handover;
mod measure;
mod orphans;
mod overload;
mod shutdown;
mod sizes;
mod stdio;
mod upstreams;
