//! Real processes on one SQLite file: `serve`, workers and a bbox worker share work, and one of them is killed.

mod house;
mod kill;
mod share;
