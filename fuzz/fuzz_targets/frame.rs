//! Bytes from the socket: greeting, frames, requests and answers. A decoded request is equal after
//! encoding and decoding it; a decoded answer can be encoded and decoded again.
#![no_main]

use brain_protocol::{Answer, HELLO_LEN, Hello, Request, decode, encode, read_frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(Ok(bytes)) = data.get(..HELLO_LEN).map(<[u8; HELLO_LEN]>::try_from) {
        let _ = Hello::from_bytes(&bytes);
    }
    let mut rest = data;
    while let Ok(payload) = read_frame(&mut rest) {
        let _ = decode::<Request>(&payload);
    }
    if let Ok(request) = decode::<Request>(data) {
        let bytes = encode(&request).expect("a decoded value fits");
        assert_eq!(decode::<Request>(&bytes).expect("an encoded request decodes"), request);
    }
    if let Ok(answer) = decode::<Answer>(data) {
        let bytes = encode(&answer).expect("a decoded value fits");
        assert!(decode::<Answer>(&bytes).is_ok());
    }
});
