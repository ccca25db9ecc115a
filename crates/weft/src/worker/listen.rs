//! What a worker serves, and where it accepts.
//!
//! Must not know how sockets are bound. Invariant: all workers of an image know the same services by the same numbers, also one that
//! accepts nowhere, because others pass their connections on.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use weft_serve::{Server, Service, Trusts};

use crate::config::{Config, ListenAddress};
use crate::master::listen::BoundListener;
use crate::php;
use crate::tls::Ready;

/// Where a worker accepts, and what it may be asked to accept for others.
pub struct Listening {
    /// The descriptors of its sockets.
    pub sockets: Vec<RawFd>,
    /// The numbers of all services, in the order of [`Config::services`].
    pub services: Vec<u32>,
}

/// Serves the sockets, each as its address says.
///
/// # Errors
/// One line: what is wrong with an address.
pub fn listen(
    server: &Server,
    listeners: Vec<BoundListener>,
    tls: Option<&Ready>,
    config: &Arc<Config>,
) -> Result<Listening, String> {
    let services = add_services(server, tls, config)?;
    let mut sockets = Vec::new();
    for listener in listeners {
        if let (Some(_), Some(path)) = (listener.configured.udp(), listener.configured.service()) {
            let service = php::datagram_service(path)?;
            let served = server.listen_for_datagrams(listener.fd, service);
            served.map_err(|error| format!("cannot receive at {}: {error}", listener.address))?;
            continue;
        }
        let service = services.iter().find(|(address, _)| *address == listener.configured);
        let (_, service) = service.ok_or_else(|| format!("{} is not configured", listener.address))?;
        sockets.push(listener.fd.as_raw_fd());
        server
            .listen_for(listener.fd, listener.address.endpoint(), *service)
            .map_err(|error| format!("cannot listen: {error}"))?;
    }
    Ok(Listening { sockets, services: services.into_iter().map(|(_, number)| number).collect() })
}

/// Adds what is served at each address.
fn add_services(
    server: &Server,
    tls: Option<&Ready>,
    config: &Arc<Config>,
) -> Result<Vec<(ListenAddress, u32)>, String> {
    let trusts: Trusts = {
        let config = Arc::clone(config);
        Arc::new(move |address| config.trust.proxies.iter().any(|network| network.contains(address)))
    };
    let added = config.services().map(|address| {
        let stream = address.service().map(php::stream_service).transpose()?;
        let config_of =
            |tls: &Ready| if stream.is_some() { tls.without_alpn() } else { Arc::clone(&tls.config) };
        let tls = tls.filter(|_| address.is_tls()).map(config_of);
        if address.is_tls() && tls.is_none() {
            return Err(format!("{address} has no certificate")); // never plain bytes there
        }
        let proxied = config.server.proxy_protocol.contains(address).then(|| Arc::clone(&trusts));
        let service = Service { tls, proxied, is_admin: address.is_admin(), stream };
        Ok((address.clone(), server.add_service(service)))
    });
    added.collect()
}
