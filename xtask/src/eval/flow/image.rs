//! Small pictures that really are pictures: what people upload, and what no rule may stop.

use super::known::{chunks, zlib};
use crate::eval::generate::secrets::crc32;
use crate::eval::random::Random;

/// Makes a PNG of so many grey pixels: a gradient with noise.
pub(super) fn png(random: &mut Random, width: u32, height: u32) -> Vec<u8> {
    let mut rows = Vec::new();
    for row in 0..height {
        rows.push(0);
        let noise = random.bytes(32).into_iter().cycle();
        let pixel = |(column, noise): (u32, u8)| {
            let [.., level] = ((row + column) % 200).to_be_bytes();
            level ^ (noise & 7)
        };
        rows.extend((0..width).zip(noise).map(pixel));
    }
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([8, 0, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, *b"IHDR", &head);
    chunk(&mut out, *b"IDAT", &zlib(&rows));
    chunk(&mut out, *b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, name: [u8; 4], body: &[u8]) {
    let length = u32::try_from(body.len()).unwrap_or(0);
    out.extend(length.to_be_bytes());
    let checked = [name.as_slice(), body].concat();
    out.extend(&checked);
    out.extend(crc32(&checked).to_be_bytes());
}

/// Code lengths and values of the table for mean values of blocks; that of Annex K.
const MEANS: &[u8] = &[
    0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
];
/// A table of two codes: `0` ends a block, `10` is a coefficient of one bit.
const DETAILS: &[u8] = &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Makes a baseline JPEG of so many grey blocks of eight by eight pixels.
pub(super) fn jpeg(random: &mut Random, blocks: u16) -> Vec<u8> {
    let mut out = b"\xff\xd8".to_vec();
    segment(&mut out, 0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    segment(&mut out, 0xdb, &[[0].as_slice(), &[8; 64]].concat());
    let [high, low] = (blocks * 8).to_be_bytes();
    segment(&mut out, 0xc0, &[8, 0, 8, high, low, 1, 1, 0x11, 0]);
    segment(&mut out, 0xc4, &[[0].as_slice(), MEANS].concat());
    segment(&mut out, 0xc4, &[[0x10].as_slice(), DETAILS].concat());
    segment(&mut out, 0xda, &[1, 1, 0, 0, 63, 0]);
    let mut bits = String::new();
    for _ in 0..blocks {
        // A change of the mean by one (category 1, code `010`), then a few coefficients.
        bits.push_str(random.pick(&["0101", "0100", "00"]));
        for _ in 0..random.below(40) {
            bits.push_str(random.pick(&["101", "100"]));
        }
        bits.push('0');
    }
    for byte in chunks(&bits, 8) {
        let value = u8::from_str_radix(&format!("{byte:1<8}"), 2).unwrap_or(0);
        out.push(value);
        out.extend((value == 0xff).then_some(0));
    }
    out.extend(b"\xff\xd9");
    out
}

fn segment(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let length = u16::try_from(body.len() + 2).unwrap_or(0);
    out.extend([0xff, kind]);
    out.extend(length.to_be_bytes());
    out.extend(body);
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_png_parses_to_its_end() {
        let file = png(&mut Random::named("a"), 20, 10);
        let (mut at, mut names, mut pixels) = (8, Vec::new(), Vec::new());
        while at < file.len() {
            let length = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            let body = &file[at + 4..at + 8 + length];
            let sum =
                u32::from_be_bytes(file[at + 8 + length..at + 12 + length].try_into().unwrap());
            assert_eq!(crc32(body), sum);
            names.push(body[..4].to_vec());
            if &body[..4] == b"IDAT" {
                ZlibDecoder::new(&body[4..])
                    .read_to_end(&mut pixels)
                    .unwrap();
            }
            at += 12 + length;
        }
        assert_eq!(names, [b"IHDR", b"IDAT", b"IEND"]);
        assert_eq!(pixels.len(), 21 * 10);
    }

    #[test]
    fn a_jpeg_has_its_segments_and_every_block() {
        let file = jpeg(&mut Random::named("a"), 30);
        let (mut at, mut kinds) = (2, Vec::new());
        while *kinds.last().unwrap_or(&0) != 0xda {
            assert_eq!(file[at], 0xff);
            kinds.push(file[at + 1]);
            at += 2 + usize::from(u16::from_be_bytes([file[at + 2], file[at + 3]]));
        }
        assert_eq!(kinds, [0xe0, 0xdb, 0xc0, 0xc4, 0xc4, 0xda]);
        assert!(file.ends_with(b"\xff\xd9"));
        let data = file[at..file.len() - 2].to_vec();
        let data = data
            .iter()
            .zip([0].iter().chain(&data))
            .filter(|(now, last)| !(**now == 0 && **last == 0xff));
        let bits: String = data
            .map(|(byte, _)| format!("{byte:08b}"))
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(blocks(&bits), 30);
    }

    /// Reads blocks as a decoder does.
    fn blocks(bits: &str) -> usize {
        let mut bits = bits.chars().peekable();
        let mut count = 0;
        while bits.clone().any(|bit| bit == '0') {
            assert_eq!(bits.next(), Some('0'));
            if bits.next() == Some('1') {
                assert_eq!(bits.next(), Some('0'));
                bits.next();
            }
            let mut coefficients = 0;
            while bits.next() == Some('1') {
                assert_eq!(bits.next(), Some('0'));
                bits.next();
                coefficients += 1;
            }
            assert!(coefficients < 64);
            count += 1;
        }
        count
    }
}
