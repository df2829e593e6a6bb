//! Validators of network addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Subject, Verdict};

pub(super) fn ipv4(subject: Subject<'_>) -> Verdict {
    let address = subject.text()?.parse::<Ipv4Addr>();
    address.map(|_| ()).map_err(|_| "not an IPv4 address")
}

pub(super) fn ipv6(subject: Subject<'_>) -> Verdict {
    let address = subject.text()?.parse::<Ipv6Addr>();
    address.map(|_| ()).map_err(|_| "not an IPv6 address")
}
