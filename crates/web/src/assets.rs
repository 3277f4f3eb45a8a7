//! What a page needs beside itself: one style sheet, one script, one picture. All in the program.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

/// The files by name, with their type.
const FILES: &[(&str, &str, &str)] = &[
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../assets/style.css"),
    ),
    (
        "live.js",
        "text/javascript; charset=utf-8",
        include_str!("../assets/live.js"),
    ),
    (
        "mark.svg",
        "image/svg+xml",
        include_str!("../assets/mark.svg"),
    ),
];

/// Serves one. A new program has new files under the same names, so they are asked for again
/// after a while.
pub(crate) async fn serve(Path(name): Path<String>) -> Response {
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let Some((_, kind, text)) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (CONTENT_TYPE, *kind),
        (CACHE_CONTROL, "private, max-age=300"),
    ];
    (headers, *text).into_response()
}
