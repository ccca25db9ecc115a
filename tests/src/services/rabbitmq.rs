//! RabbitMQ: an Erlang node with its own port mapper, so that none of its daemons survive. User guest, password guest.

use super::{Certificate, Service, Setup, free_port};

/// A running RabbitMQ. It takes some seconds to start.
#[derive(Debug)]
pub struct RabbitMq {
    /// Its AMQP port on 127.0.0.1.
    pub port: u16,
    /// Its AMQP port for TLS.
    pub tls_port: u16,
    service: Service,
    // Ends after the node: fields are dropped in order.
    _mapper: Service,
}

impl RabbitMq {
    /// Starts a node without plugins.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> RabbitMq {
        let mapper_port = free_port();
        let number = mapper_port.to_string();
        // Without -daemon it stays in the foreground.
        let mapper = Setup::new().start("KILL", &[], "epmd", &["-port", &number, "-address", "127.0.0.1"]);
        let mapper = mapper.wait_for_port(mapper_port);
        let setup = Setup::new();
        Certificate::write(setup.directory());
        let (port, tls_port) = (free_port(), free_port());
        setup.write("rabbitmq.conf", &configuration(&setup, port, tls_port));
        setup.write("plugins", "[].\n");
        let paths = ["mnesia", "log", "rabbitmq.conf", "plugins", "pid"].map(|name| setup.path(name));
        let distribution = free_port().to_string();
        let name = format!("weft-{port}@localhost");
        let environment = [
            ("ERL_EPMD_PORT", number.as_str()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1"),
            ("RABBITMQ_NODENAME", &name),
            ("RABBITMQ_DIST_PORT", &distribution),
            ("RABBITMQ_MNESIA_BASE", &paths[0]),
            ("RABBITMQ_LOG_BASE", &paths[1]),
            ("RABBITMQ_CONFIG_FILE", &paths[2]),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", &paths[3]),
            ("RABBITMQ_PID_FILE", &paths[4]),
            ("RABBITMQ_CONF_ENV_FILE", "/dev/null"),
            // Otherwise its idle threads would spin and take time from other processes of this machine.
            ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+sbwt none +sbwtdcpu none +sbwtdio none"),
        ];
        let service = setup.start("KILL", &environment, "/usr/lib/rabbitmq/bin/rabbitmq-server", &[]);
        let service = service.wait_for_port(port).wait_for_port(tls_port);
        RabbitMq { port, tls_port, service, _mapper: mapper }
    }

    /// The certificate that its clients can check.
    pub fn certificate(&self) -> std::path::PathBuf {
        self.service.path("cert.pem")
    }
}

fn configuration(setup: &Setup, port: u16, tls_port: u16) -> String {
    let (cert, key) = (setup.path("cert.pem"), setup.path("key.pem"));
    format!(
        "listeners.tcp.1 = 127.0.0.1:{port}\n\
         listeners.ssl.1 = 127.0.0.1:{tls_port}\n\
         ssl_options.cacertfile = {cert}\n\
         ssl_options.certfile = {cert}\n\
         ssl_options.keyfile = {key}\n\
         ssl_options.verify = verify_none\n\
         loopback_users = none\n"
    )
}
