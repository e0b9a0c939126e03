//! The program as its users meet it, and rules that hold over the whole tree. `live`, which takes
//! root, is apart.

mod circles;
mod crate_rules;
mod documents;
mod fuzz;
mod papers;
mod plot;
mod sim;
mod trace;
