//! hyper 1.x on tokio's current_thread runtime: the Rust peer of the bench.
//! Routes: `/sleep` answers after 10 ms, `/park` after ten minutes, anything else at once.
//! Usage: bench-hyper PORT

use std::{convert::Infallible, net::Ipv4Addr, time::Duration};

use http_body_util::Full;
use hyper::{Request, Response, body::Bytes, body::Incoming, header, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};

const BACKLOG: u32 = 4096;
const SLEEP: Duration = Duration::from_millis(10);
const PARK: Duration = Duration::from_secs(600);

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    match request.uri().path() {
        "/sleep" => tokio::time::sleep(SLEEP).await,
        "/park" => tokio::time::sleep(PARK).await,
        _ => {}
    }
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello World")));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/html; charset=UTF-8"));
    headers.insert(header::SERVER, header::HeaderValue::from_static("hyper"));
    Ok(response)
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // The bench handles clients that disconnect.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("usage: bench-hyper PORT")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
        serve(socket.listen(BACKLOG)?).await
    })?;
    Ok(())
}
