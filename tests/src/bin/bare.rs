//! A minimal HTTP server, a baseline of `benches/performance`. Prints its address.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::{get, post};

#[tokio::main(worker_threads = 2)]
async fn main() {
    let app = axum::Router::new()
        .route(
            "/ingest",
            post(|body: Bytes| async move { (StatusCode::ACCEPTED, body.len().to_string()) }),
        )
        .route("/health", get(|| async { r#"{"status":"ok"}"# }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    axum::serve(listener, app).await.unwrap();
}
