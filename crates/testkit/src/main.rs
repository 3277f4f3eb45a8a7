//! Runs one sample on standard input and output: `mcpproxy-sample echo --era legacy`.

use mcpproxy_testkit::sample;

fn main() -> std::io::Result<()> {
    let (sample, options) = sample::parse_arguments(std::env::args().skip(1))?;
    sample::run(sample, options)
}
