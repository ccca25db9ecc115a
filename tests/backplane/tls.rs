//! A backplane that speaks TLS: who trusts its authority shares topics, who does not is told why.

use weft_tests::services::{Backplane, Kind};
use weft_tests::{Running, until};

use crate::hosts::{crowd, host, join, know, metric, publish};
use crate::messages::with_both;

/// A host that trusts the backplane's authority.
fn trusting(backplane: &Backplane) -> Running {
    let authority = backplane.authority().display().to_string();
    join(host(backplane).with_variable("SSL_CERT_FILE", &authority))
}

fn hosts_that_trust_the_authority_share_topics(kind: Kind) {
    let mut backplane = Backplane::start_over_tls(kind);
    let (one, other) = (trusting(&backplane), trusting(&backplane));
    know(&one, 1);
    let mut there = crowd(&other, 1).remove(0);
    publish(&one, "all", "p", 0, 3);
    for number in 0..3 {
        assert_eq!(there.text(), format!("p {number}"));
    }
    // It comes back as it was, and so do they.
    backplane.kill();
    until("it is gone", || (metric(&one, "weft_backplane_connected") == 0.0).then_some(()));
    publish(&one, "all", "p", 3, 1);
    backplane.go_on();
    assert_eq!(there.text(), "p 3", "{}", other.log());
    assert!(!one.log().contains("se-cret"), "{}", one.log());
}

fn a_host_that_does_not_trust_it_says_so_and_serves_its_own_clients(kind: Kind) {
    let backplane = Backplane::start_over_tls(kind);
    let mut weft = host(&backplane).start();
    weft.wait_for_log(&backplane.shown());
    let log = weft.log();
    let line = log.lines().find(|line| line.contains(&backplane.shown())).expect("it was there");
    assert!(line.contains("certificate") && !line.contains("se-cret"), "{line}");
    assert_eq!(metric(&weft, "weft_backplane_connected"), 0.0);
    let mut own = crowd(&weft, 1).remove(0);
    publish(&weft, "all", "p", 0, 1);
    assert_eq!(own.text(), "p 0");
}

with_both! {
    hosts_that_trust_the_authority_share_topics
    a_host_that_does_not_trust_it_says_so_and_serves_its_own_clients
}
