//! Events of other gateways: any bytes are refused or folded, what is read is written the same, and a
//! tracker that folded them goes on.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcpproxy_core::{FlowScope, Id128, Tick};
use mcpproxy_flow::{Event, FlowTracking, Tracker};

fuzz_target!(|packets: Vec<&[u8]>| {
    let tracker = Tracker::new(&FlowTracking::default());
    let scope = FlowScope(Id128(1));
    for packet in packets {
        if let Some(event) = Event::decode(packet) {
            let again = Event::decode(&event.encode());
            assert!(again.is_some(), "what was written is not read");
            tracker.fold(scope, event, Tick(Duration::ZERO));
        }
    }
    assert!(tracker.usage().bytes < 64 << 20, "it grows without a bound");
});
