//! Prints the schema of webhook questions and answers; `webhook.schema.json` is what it prints.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    let schema = mcpproxy_hooks_remote::schema();
    writeln!(io::stdout(), "{schema:#}")
}
