//! Headers of the modern era: what was written is read back, what repeats a body is accepted, and
//! what does not is refused or read, never both.

#![no_main]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use mcpproxy_mcp::Frame;
use mcpproxy_mcp::header::{
    METHOD, NAME, VERSION, check, check_params, check_single, decode, encode, param_headers, params,
    routing,
};
use mcpproxy_text::Limits;

const DRAFT: &str = "2026-07-28";

fuzz_target!(|data: (&[u8], &str, &str)| {
    let (value, body, schema) = data;
    if let Some(header) = encode(schema) {
        assert_eq!(decode(&header).as_deref(), Some(schema), "a header that changes its value");
    }
    let limits = Limits { depth: 64 };
    let Ok(frame) = Frame::parse(Bytes::copy_from_slice(body.as_bytes()), limits) else {
        return;
    };
    let wanted = if mcpproxy_text::check(schema.as_bytes(), limits).is_ok() {
        param_headers(schema)
    } else {
        Vec::new()
    };
    let mut headers: HeaderMap = routing(&frame, DRAFT).into_iter().collect();
    headers.extend(params(&frame, &wanted));
    if headers.contains_key(METHOD) {
        check(&headers, &frame, DRAFT).expect("our own headers");
        check_params(&headers, &frame, &wanted).expect("our own headers");
    }
    if let Ok(value) = HeaderValue::from_bytes(value) {
        for name in [VERSION, METHOD, NAME] {
            let mut other = headers.clone();
            other.append(name.clone(), value.clone());
            assert!(other.get_all(&name).iter().count() < 2 || check_single(&other, &frame).is_err());
            other.insert(name, value.clone());
            drop(check(&other, &frame, DRAFT));
        }
    }
});
