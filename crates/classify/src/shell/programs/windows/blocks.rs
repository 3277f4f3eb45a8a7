//! Cmdlets and loops that run a block of code.

use super::super::super::effects::Connection;
use super::super::super::facts::{Dialect, Transfer};
use super::super::super::host;
use super::super::super::interp::Interp;
use super::super::super::value::{Taint, Value};
use super::super::code;

/// Runs the blocks that a command was given, with what comes in as `$_`.
pub(super) fn blocks(interp: &mut Interp, name: &str, args: &[Value], stdin: &Value) -> Value {
    let mut out = Value::unknown("", stdin.taint);
    for item in ["_", "psitem", "input"] {
        interp.assign(
            item,
            vec![Value {
                text: "$()".to_owned(),
                known: false,
                taint: stdin.taint,
            }],
            false,
        );
    }
    if let Some(computer) = args.windows(2).find_map(|pair| match pair {
        [option, value] if option.text.eq_ignore_ascii_case("-ComputerName") => Some(value),
        _ => None,
    }) {
        let host = host::host_of(&computer.text);
        interp.connect(&Connection {
            program: name,
            address: Some(computer),
            host,
            transfer: Transfer::Session,
            carries: stdin.taint,
            plain: Taint::default(),
            certain: true,
        });
    }
    for block in args.iter().filter(|arg| arg.text.starts_with('{')) {
        let inner = block
            .text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .unwrap_or_default();
        let value = interp.run_as(Dialect::PowerShell, &block.derive(inner), stdin);
        out.push(&value);
    }
    out
}

/// Follows `for /f %i in ('command') do ..` and `if .. command`.
pub(super) fn loops(interp: &mut Interp, args: &[Value], stdin: &Value) -> Value {
    let mut out = Value::unknown("", Taint::default());
    for literal in args
        .iter()
        .flat_map(|arg| code::literals(&arg.text))
        .take(4)
    {
        let value = interp.run_as(Dialect::Cmd, &Value::text(literal), stdin);
        out.push(&value);
    }
    let command = args
        .iter()
        .position(|arg| super::super::table::find(&arg.text, &[]).is_some() || arg.text == "curl");
    if let Some(at) = command {
        let words = args.get(at..).unwrap_or_default().to_vec();
        let value = interp.nested(|interp| interp.program(words, stdin));
        out.push(&value);
    }
    out
}
