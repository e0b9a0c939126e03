//! The program as its users meet it, and rules that hold over the whole tree. `live`, which takes
//! root, is apart.

mod bench_traces;
mod circles;
mod crate_rules;
mod documents;
mod fuzz;
mod matched;
mod papers;
mod pipes;
mod plot;
mod plot_choice;
mod plot_output;
mod sim;
mod trace;
