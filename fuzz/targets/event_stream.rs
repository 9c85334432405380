//! An event stream, split into pieces. The first byte is the length of the pieces.

#![no_main]

use std::cell::RefCell;
use std::convert::Infallible;

use axum::body::Bytes;
use ensemble_poll::cli::event_stream::read_events;
use ep_kernel::fault::Kind;
use futures::executor::block_on;
use futures::stream;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The events before the last one, and the data or error of the last one.
type Events = (Vec<(&'static str, Value)>, Result<Value, (Kind, String)>);

fn read(text: &[u8], length: usize) -> Events {
    let pieces = text.chunks(length).map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece)));
    let steps = RefCell::new(Vec::new());
    let end = block_on(read_events(stream::iter(pieces), |name, data| steps.borrow_mut().push((name, data))));
    (steps.into_inner(), end.map_err(|fault| (fault.kind(), fault.message().to_owned())))
}

fuzz_target!(|input: &[u8]| {
    let Some((&length, text)) = input.split_first() else { return };
    let whole = read(text, text.len().max(1));
    let pieces = read(text, usize::from(length).max(1));
    // Events before an error in the same piece are not reported.
    if whole.1.is_ok() {
        assert_eq!(whole, pieces);
    }
});
