//! Programs of the table that copy: to a host, from a host, or between files.

use super::super::effects::Connection;
use super::super::facts::Transfer;
use super::super::host;
use super::super::interp::Interp;
use super::super::table::{Role, Spec};
use super::super::value::{Taint, Value};
use super::{Gathered, Invocation, is_remote_place, reaches_out};

impl Interp {
    pub(super) fn transfer(
        &mut self,
        invocation: &Invocation<'_>,
        spec: &Spec,
        transfer: Transfer,
        gathered: &Gathered,
    ) -> Value {
        let Invocation { name, stdin, .. } = *invocation;
        if !gathered.shell.is_empty() {
            self.remote_shell(&gathered.shell, stdin);
        }
        let carries = gathered.content.taint;
        let plain = if spec.plain || transfer == Transfer::Lookup {
            carries
        } else {
            Taint::default()
        };
        let mut out = Value::unknown("", Taint::default());
        let mut connected = false;
        for (role, address) in &gathered.addresses {
            if *role == Role::Url && !reaches_out(&address.text, transfer, spec.local) {
                if !address.text.is_empty() && spec.local && host::looks_like_path(&address.text) {
                    let read = self.read(address, name, stdin);
                    out.taint.join(read.taint);
                }
                continue;
            }
            connected = true;
            let host = host::remote_of(&address.text).or_else(|| host::host_of(&address.text));
            let value = self.connect(&Connection {
                program: name,
                address: Some(address),
                host,
                transfer,
                carries,
                plain,
                certain: true,
            });
            out.push(&value);
        }
        if !connected && !spec.local {
            let listening = transfer == Transfer::Listen;
            let host = spec.host.map(str::to_owned);
            if host.is_some() || listening || transfer != Transfer::Lookup {
                let value = self.connect(&Connection {
                    program: name,
                    address: None,
                    host,
                    transfer,
                    carries,
                    plain,
                    certain: true,
                });
                out.push(&value);
            }
        }
        if !connected && spec.local {
            out.taint.join(carries);
        }
        out.known = false;
        out
    }

    /// Follows `scp`, `rsync` and kin: the last operand says which way it goes.
    pub(super) fn copy(
        &mut self,
        invocation: &Invocation<'_>,
        spec: &Spec,
        values: &[(Role, Value)],
    ) -> Value {
        let host_of = |place: &str| host::remote_of(place).filter(|_| !spec.named);
        let Invocation { name, stdin, .. } = *invocation;
        let places: Vec<Value> = values
            .iter()
            .filter(|(role, _)| *role == Role::Remote)
            .map(|(_, value)| value.clone())
            .collect();
        let gathered = self.gather(name, values, stdin);
        let mut content = gathered.content.clone();
        let Some((to, from)) = places.split_last() else {
            return Value::default();
        };
        let mut remote_source = false;
        for place in from {
            if is_remote_place(name, &place.text) {
                remote_source = true;
                let host = host_of(&place.text);
                let value = self.connect(&Connection {
                    program: name,
                    address: Some(place),
                    host,
                    transfer: Transfer::Fetch,
                    carries: place.taint,
                    plain: Taint::default(),
                    certain: true,
                });
                content.push(&value);
            } else {
                let read = self.read(place, name, stdin);
                content.push(&read);
            }
        }
        for (_, endpoint) in &gathered.addresses {
            let (host, carries) = (host::host_of(&endpoint.text), content.taint);
            self.connect(&Connection {
                program: name,
                address: Some(endpoint),
                host,
                transfer: Transfer::Upload,
                carries,
                plain: Taint::default(),
                certain: true,
            });
        }
        if is_remote_place(name, &to.text)
            || (!to.known && !remote_source && !to.text.contains('/'))
        {
            let (host, carries) = (host_of(&to.text), content.taint.with(to.taint));
            self.connect(&Connection {
                program: name,
                address: Some(to),
                host,
                transfer: Transfer::Upload,
                carries,
                plain: Taint::default(),
                certain: true,
            });
        } else {
            self.write(to, &content, name);
            self.put_into(to, &from.iter().collect::<Vec<_>>(), &content);
        }
        Value::unknown("", Taint::default())
    }
}
