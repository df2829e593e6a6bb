//! The scripts, each one round trip and atomic on the server.

use std::sync::LazyLock;

use redis::Script;

macro_rules! script {
    ($name:ident, $file:literal) => {
        pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                include_str!("scripts/head.lua"),
                include_str!(concat!("scripts/", $file))
            ))
        });
    };
}

script!(REGISTER, "register.lua");
script!(LOOK, "look.lua");
script!(CLAIM, "claim.lua");
script!(BEAT, "beat.lua");
script!(DONE, "done.lua");
script!(GIVE_BACK, "give_back.lua");
script!(DEAD_LETTER, "dead_letter.lua");
script!(BURY, "bury.lua");
script!(LEAVE, "leave.lua");
script!(STATUS, "status.lua");
script!(FORGET, "forget.lua");

pub(super) static TRIM: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/trim.lua")));
pub(super) static REQUEUE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/requeue.lua")));
