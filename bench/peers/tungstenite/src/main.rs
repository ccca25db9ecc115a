//! tokio-tungstenite on tokio's current_thread runtime: the Rust peer of push.
//! `/echo` and `/talk` send back what they get, `/crowd` hears what `/common?sequence=N` publishes, anything else is answered at once.
//! Usage: bench-tungstenite PORT

use std::net::Ipv4Addr;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::broadcast::{self, Sender};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

const BACKLOG: u32 = 4096;
const HEAD_BYTES_MAX: usize = 4096;
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nHello World";
const WAITING_MAX: usize = 1024;
/// Its default of 128 KiB for each connection would be what is measured.
const BUFFER_BYTES: usize = 4096;

async fn accepted(stream: TcpStream) -> Result<WebSocketStream<TcpStream>, Error> {
    let config = WebSocketConfig::default().read_buffer_size(BUFFER_BYTES).write_buffer_size(0);
    let mut socket = accept_async_with_config(stream, Some(config)).await?;
    socket.send(Message::text("welcome")).await?;
    Ok(socket)
}

async fn echo(stream: TcpStream) -> Result<(), Error> {
    let mut socket = accepted(stream).await?;
    while let Some(message) = socket.next().await {
        match message? {
            message @ (Message::Text(_) | Message::Binary(_)) => socket.send(message).await?,
            _ => (),
        }
    }
    Ok(())
}

async fn listen(stream: TcpStream, topic: &Sender<Utf8Bytes>) -> Result<(), Error> {
    let mut published = topic.subscribe();
    let mut socket = accepted(stream).await?;
    loop {
        tokio::select! {
            message = socket.next() => match message {
                Some(message) => drop(message?),
                None => return Ok(()),
            },
            text = published.recv() => match text {
                Ok(text) => socket.send(Message::Text(text)).await?,
                Err(_) => return Ok(()),
            },
        }
    }
}

/// Requests without an upgrade, each as a whole in one segment.
async fn answer(mut stream: TcpStream, topic: &Sender<Utf8Bytes>) -> std::io::Result<()> {
    let mut head = [0; HEAD_BYTES_MAX];
    loop {
        let count = stream.read(&mut head).await?;
        if count == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&head[..count]);
        if let Some(rest) = text.strip_prefix("GET /common?sequence=") {
            let sequence = rest.split(' ').next().unwrap_or_default();
            // Nobody listens before the first one is there.
            let _ = topic.send(format!("{:.<100}", format!("c {sequence} ")).into());
        }
        stream.write_all(HELLO).await?;
    }
}

async fn serve(stream: TcpStream, topic: Sender<Utf8Bytes>) {
    let mut first = [0; 10];
    // The bench notices what goes wrong.
    let _ = stream.set_nodelay(true);
    let seen = stream.peek(&mut first).await.unwrap_or(0);
    match &first[..seen] {
        b"GET /crowd" => drop(listen(stream, &topic).await),
        b"GET /echo " | b"GET /talk " => drop(echo(stream).await),
        _ => drop(answer(stream, &topic).await),
    }
}

async fn accept(listener: TcpListener) -> std::io::Result<()> {
    let (topic, _) = broadcast::channel(WAITING_MAX);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream, topic.clone()));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("usage: bench-tungstenite PORT")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
        accept(socket.listen(BACKLOG)?).await
    })?;
    Ok(())
}
