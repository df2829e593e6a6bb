//! The SSRF guard: a callback reaches nothing that only this machine or its network can reach.
//!
//! A name is resolved once, by the resolver of the HTTP client itself, and the connection goes to the address that
//! was looked at. Addresses written in the URL are looked at before.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolving};
use url::{Host, Url};

use crate::ports::Resolve;

/// A callback that may not be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is no URL.
    #[error("the callback is no URL")]
    NotUrl,
    /// It is no http or https URL.
    #[error("the callback is no http or https URL")]
    Scheme,
    /// It goes to an address that is not public.
    #[error(
        "the callback goes to {address}, which is not a public address (FLYDOCS_WEBHOOK_ALLOW_PRIVATE)"
    )]
    NotPublic {
        /// Where it goes.
        address: IpAddr,
    },
}

/// What can be said of a callback before its name is resolved.
pub fn check_callback(url: &str, allow_private: bool) -> Result<Url, Refused> {
    let url = Url::parse(url).map_err(|_| Refused::NotUrl)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused::Scheme);
    }
    let address = match url.host() {
        None => return Err(Refused::NotUrl),
        Some(Host::Domain(_)) => None,
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
    };
    match address {
        Some(address) if !allow_private && !is_public(address) => {
            Err(Refused::NotPublic { address })
        }
        _ => Ok(url),
    }
}

/// True for an address anybody on the internet can reach.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        // this network, private, loopback, multicast and reserved
        0 | 10 | 127 | 224..=255 => true,
        // shared by carriers
        100 => matches!(b, 64..=127),
        // link-local: metadata services
        169 => b == 254,
        172 => matches!(b, 16..=31),
        // private, protocol assignments, documentation, relays
        192 => b == 168 || matches!((b, c), (0, 0 | 2) | (88, 99)),
        // benchmarks, documentation
        198 => matches!((b, c), (18..=19, _) | (51, 100)),
        203 => matches!((b, c), (0, 113)),
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = inner_v4(address) {
        return is_public_v4(inner);
    }
    let [a, b, ..] = address.segments();
    // Only global unicast is public, and of that not the documentation, benchmark and ORCHID blocks.
    let is_global = a & 0xe000 == 0x2000;
    let is_special = matches!((a, b), (0x2001, 0..=0x01ff | 0x0db8)) || a & 0xfff0 == 0x3ff0;
    is_global && !is_special
}

/// The IPv4 address that an IPv6 one stands for: mapped, compatible, NAT64, 6to4.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, ..) => {
            Some(from(g, h))
        }
        (0x2002, ..) => Some(from(b, c)),
        _ => None,
    }
}

/// The resolver of the HTTP client: what it does not give, nobody connects to.
#[derive(Debug, Clone)]
pub(super) struct GuardedResolver {
    pub(super) inner: Arc<dyn Resolve>,
    pub(super) allow_private: bool,
}

impl reqwest::dns::Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = guard.inner.resolve(name.as_str()).await?;
            // One address that is not public among public ones is an attempt, not an accident.
            let private = found.iter().find(|address| !is_public(**address));
            if let Some(address) = private.filter(|_| !guard.allow_private) {
                return Err(Refused::NotPublic { address: *address }.into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// The refusal inside an error of the client, when there is one.
pub(super) fn refusal<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Refused> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return Some(refused);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for (address, wanted) in [
            ("1.1.1.1", true),
            ("93.184.216.34", true),
            ("127.0.0.1", false),
            ("127.8.9.1", false),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            ("ff02::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::127.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("64:ff9b::808:808", true),
            ("2002:7f00:1::", false),
            ("2001:db8::1", false),
            ("2001::1", false),
            ("2606:4700::1111", true),
            ("2a00:1450::1", true),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), wanted, "{address}");
        }
    }

    #[test]
    fn an_address_in_the_url_is_seen_however_it_is_written() {
        for url in [
            "http://127.0.0.1/x",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://127.1:8080/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest/meta-data/",
        ] {
            assert!(
                matches!(check_callback(url, false), Err(Refused::NotPublic { .. })),
                "{url}"
            );
            assert!(check_callback(url, true).is_ok(), "{url}");
        }
        for (url, wanted) in [
            ("ftp://example.com/", Refused::Scheme),
            ("file:///etc/passwd", Refused::Scheme),
            ("nonsense", Refused::NotUrl),
            ("http://", Refused::NotUrl),
        ] {
            assert_eq!(check_callback(url, true), Err(wanted), "{url}");
        }
        assert!(check_callback("https://example.com/hook?x=1", false).is_ok());
    }
}
