//! Addresses and their classes, as a table; and what a rule lets through.

use super::{AddressClass, AddressRule, Network};

// THREAT[TM-HTTP-2]
const CLASSES: &[(AddressClass, &[&str])] = &[
    (
        AddressClass::Public,
        &[
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2000::",
            "2001:200::",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450::",
            "2003::",
            "3ffe:ffff::",
            "3fff:1000::",
        ],
    ),
    (
        AddressClass::Loopback,
        &[
            "127.0.0.1",
            "127.0.0.0",
            "127.255.255.255",
            "127.1.2.3",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "64:ff9b::7f00:1",
        ],
    ),
    (
        AddressClass::Private,
        &[
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "::ffff:10.1.2.3",
            "64:ff9b::a00:1",
        ],
    ),
    (
        AddressClass::Shared,
        &["100.64.0.0", "100.127.255.255", "::ffff:100.64.0.1"],
    ),
    (
        AddressClass::UniqueLocal,
        &[
            "fc00::",
            "fc00::1",
            "fd12:3456::1",
            "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ],
    ),
    (
        AddressClass::LinkLocal,
        &[
            "169.254.0.0",
            "169.254.255.255",
            "fe80::1",
            "febf::1",
            "::ffff:169.254.1.1",
        ],
    ),
    (
        AddressClass::Metadata,
        &[
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::a9fe:a9fe",
            "::ffff:169.254.169.254",
            "::ffff:a9fe:a9fe",
            "64:ff9b::a9fe:a9fe",
        ],
    ),
    (
        AddressClass::Multicast,
        &[
            "224.0.0.0",
            "224.0.0.251",
            "239.255.255.255",
            "ff00::",
            "ff02::1",
            "ffff::",
            "::ffff:224.0.0.1",
        ],
    ),
    (
        AddressClass::Unspecified,
        &[
            "0.0.0.0",
            "0.255.255.255",
            "::",
            "::ffff:0.0.0.0",
            "64:ff9b::",
        ],
    ),
    (
        AddressClass::Reserved,
        &[
            "192.0.0.0",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "240.0.0.0",
            "255.255.255.255",
            "::2",
            "::127.0.0.1",
            "::7f00:1",
            "2001::1",
            "2001:0:1::",
            "2001:1ff::",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::",
            "3fff::1",
            "3fff:fff::",
            "64:ff9b:1::a00:1",
            "100::1",
            "1000::",
            "4000::",
            "5f00::1",
            "8000::",
            "fec0::1",
            "::ffff:0:127.0.0.1",
            "fe00::1",
        ],
    ),
];

#[test]
fn every_address_has_the_class_that_decides() {
    for (class, addresses) in CLASSES {
        for text in *addresses {
            assert_eq!(AddressClass::of(text.parse().unwrap()), *class, "{text}");
        }
    }
}

#[test]
fn without_a_word_of_the_host_only_public_addresses_pass() {
    let rule = AddressRule::default();
    for (class, addresses) in CLASSES {
        for text in *addresses {
            let expected = match class {
                AddressClass::Public => Ok(()),
                refused => Err(*refused),
            };
            assert_eq!(rule.check(text.parse().unwrap()), expected, "{text}");
        }
    }
}

fn passes(networks: &[&str], address: &str) -> bool {
    let rule = AddressRule {
        classes: Vec::new(),
        networks: networks.iter().map(|text| text.parse().unwrap()).collect(),
    };
    rule.check(address.parse().unwrap()).is_ok()
}

#[test]
fn a_named_network_passes_and_no_other() {
    assert!(passes(&["10.1.0.0/16"], "10.1.255.255"));
    assert!(passes(&["10.1.0.0/16"], "::ffff:10.1.0.1"));
    assert!(!passes(&["10.1.0.0/16"], "10.2.0.0"));
    assert!(!passes(&["10.1.0.0/16"], "fd00::1"));
    assert!(
        passes(&["10.1.7.7/16"], "10.1.0.1"),
        "bits behind the mask do not count"
    );
    assert!(passes(&["127.0.0.1"], "127.0.0.1"));
    assert!(!passes(&["127.0.0.1"], "127.0.0.2"));
    assert!(passes(&["fd00::/8"], "fd12::1"));
    assert!(!passes(&["fd00::/8"], "fc12::1"));
    assert!(passes(&["::/0"], "fe80::1") && passes(&["0.0.0.0/0"], "10.0.0.1"));
    assert!(!passes(&["0.0.0.0/0"], "::1") && !passes(&["::/0"], "127.0.0.1"));
    assert!(passes(&["::1"], "::1"));
}

#[test]
fn keys_of_clouds_are_named_by_their_address_alone() {
    for network in ["169.254.0.0/16", "0.0.0.0/0", "169.254.169.254/31"] {
        assert!(!passes(&[network], "169.254.169.254"), "{network}");
    }
    assert!(passes(&["169.254.0.0/16"], "169.254.1.1"));
    assert!(passes(&["169.254.169.254"], "169.254.169.254"));
    assert!(passes(&["169.254.169.254/32"], "::ffff:169.254.169.254"));
    assert!(passes(&["fd00:ec2::254"], "fd00:ec2::254"));
    assert!(!passes(&["fd00::/8"], "fd00:ec2::254"));
}

#[test]
fn what_is_no_network_is_told() {
    for text in [
        "",
        "x",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "/8",
        "10.0.0/8",
        "::/129",
        "fe80::%1/64",
        "::ffff:10.0.0.0/104",
        "10.0.0.0/8/8",
    ] {
        assert!(text.parse::<Network>().is_err(), "{text}");
    }
}
