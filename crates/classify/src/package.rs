//! Which package a command starts: `npx -y @scope/server-x`, `uvx mcp-server-x`,
//! `docker run mcp/x`. Nothing is said about what the package is.

/// What a command line starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started<'a> {
    /// A package, image, module or program, by name and without version.
    Package(&'a str),
    /// A bridge to an upstream at this address.
    Bridge(&'a str),
    /// Nothing that has a name.
    Nothing,
}

/// Programs that fetch and start a package named in their arguments.
const RUNNERS: &[&str] = &[
    "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv", "deno", "docker",
    "podman", "nerdctl", "node", "python", "python3", "py", "tsx", "ts-node", "cmd", "sh", "bash",
    "env", "sudo", "wsl",
];

/// Subcommands of runners, which are no packages.
const SUBCOMMANDS: &[&str] = &[
    "run",
    "exec",
    "dlx",
    "x",
    "tool",
    "create",
    "start",
    "container",
    "/c",
    "-c",
    "mcp",
];

/// Options of runners that take the next argument.
const WITH_VALUE: &[&str] = &[
    "-e",
    "--env",
    "-v",
    "--volume",
    "--mount",
    "-p",
    "--publish",
    "--name",
    "--network",
    "--net",
    "--env-file",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--entrypoint",
    "--platform",
    "--pull",
    "--directory",
    "--project",
    "--python",
    "--with",
    "--index-url",
    "--prefix",
    "--cwd",
    "--config",
    "--memory",
    "--cpus",
    "--add-host",
    "-l",
    "--label",
];

/// Packages that only carry messages to an address.
const BRIDGES: &[&str] = &[
    "mcp-remote",
    "supergateway",
    "mcp-proxy",
    "mcp-remote-client",
];

/// Finds what `command` with `args` starts.
pub(crate) fn started<'a>(command: Option<&'a str>, args: &'a [String]) -> Started<'a> {
    let Some(command) = command else {
        return Started::Nothing;
    };
    let name = match program(command) {
        runner if RUNNERS.contains(&runner) => match positional(args) {
            Some(argument) => bare(argument),
            None => return Started::Nothing,
        },
        program => program,
    };
    if BRIDGES.contains(&name) {
        let address = args.iter().find(|argument| argument.contains("://"));
        return address.map_or(Started::Nothing, |address| Started::Bridge(address));
    }
    if name.is_empty() {
        Started::Nothing
    } else {
        Started::Package(name)
    }
}

/// Names the package, image, module or program that a command line starts, and its version where
/// that is said.
pub fn package<'a>(
    command: Option<&'a str>,
    args: &'a [String],
) -> Option<(&'a str, Option<&'a str>)> {
    let Started::Package(name) = started(command, args) else {
        return None;
    };
    let mut rests = args
        .iter()
        .filter_map(|argument| argument.strip_prefix(name));
    let version = rests.find_map(|rest| rest.strip_prefix(['@', ':', '=']));
    let version = version.map(|version| version.trim_start_matches('='));
    Some((name, version.filter(|version| !version.is_empty())))
}

/// Returns the address that a command line is only a bridge to.
pub fn bridged<'a>(command: Option<&'a str>, args: &'a [String]) -> Option<&'a str> {
    match started(command, args) {
        Started::Bridge(address) => Some(address),
        Started::Package(_) | Started::Nothing => None,
    }
}

/// Returns the archive, package or folder that tells which program a command line starts where the
/// name of what is started is that of many: `java -jar X`, `go run X`, `uv --directory X run main.py`.
pub fn source<'a>(command: Option<&'a str>, args: &'a [String]) -> Option<&'a str> {
    let behind = |options: &[&str]| {
        let at = args.iter().position(|one| options.contains(&&**one))?;
        args.get(at + 1).map(String::as_str)
    };
    match program(command?) {
        "java" => behind(&["-jar", "-cp", "-classpath", "--class-path"]),
        "go" | "cargo" | "dotnet" => behind(&["run", "--manifest-path", "--project"]),
        _ => behind(&["--directory", "--project", "--cwd"]),
    }
}

/// Returns the first argument that names something to start.
fn positional(args: &[String]) -> Option<&str> {
    let mut rest = args.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "-m" | "--package" | "--from" | "--image" => return rest.next(),
            _ if WITH_VALUE.contains(&argument) => {
                rest.next();
            }
            _ if SUBCOMMANDS.contains(&argument) || RUNNERS.contains(&program(argument)) => {}
            _ if argument.starts_with('-') => {}
            _ if is_assignment(argument) => {}
            _ => return Some(argument),
        }
    }
    None
}

/// Says whether an argument sets a variable; `name==1.0` is a package.
fn is_assignment(argument: &str) -> bool {
    let value = argument.split_once('=').map(|(_, value)| value);
    value.is_some_and(|value| !value.starts_with('=')) && !argument.starts_with('@')
}

/// Returns the last part of a program's path, without its ending.
fn program(command: &str) -> &str {
    let last = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let ending = [".exe", ".cmd", ".bat", ".sh"];
    ending
        .iter()
        .find_map(|ending| last.strip_suffix(ending))
        .unwrap_or(last)
}

/// Takes version, tag, digest and script ending off a package, image or path.
fn bare(argument: &str) -> &str {
    let is_path = argument.starts_with(['.', '/', '~']) || argument.contains('\\');
    if is_path
        || [".js", ".mjs", ".cjs", ".ts", ".py"]
            .iter()
            .any(|end| argument.ends_with(end))
    {
        return script(argument);
    }
    let untagged =
        argument.rsplit_once(':').map_or(
            argument,
            |(name, tag)| {
                if tag.contains('/') { argument } else { name }
            },
        );
    let name = untagged.split("==").next().unwrap_or(untagged);
    match name
        .char_indices()
        .skip(1)
        .find(|(_, character)| *character == '@')
    {
        Some((at, _)) => name.get(..at).unwrap_or(name),
        None => name,
    }
}

/// Returns the part of a script's path that is most likely its name.
fn script(path: &str) -> &str {
    const PLACES: &[&str] = &[
        "dist", "build", "src", "lib", "bin", "out", "index", "main", "server", "cli", "start",
        "app", "run", "",
    ];
    let parts = path.rsplit(['/', '\\']);
    let stems = parts.map(|part| part.split('.').next().unwrap_or(part));
    stems
        .take(4)
        .find(|stem| !PLACES.contains(stem))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Started<'_>) {
        let mut parts = line.split(' ').map(ToOwned::to_owned);
        let command = parts.next().unwrap();
        let args: Vec<String> = parts.collect();
        assert_eq!(started(Some(&command), &args), expect, "{line}");
    }

    #[test]
    fn a_version_is_told_from_its_package() {
        let check = |line: &str, expect: Option<(&str, Option<&str>)>| {
            let mut parts = line.split(' ').map(ToOwned::to_owned);
            let command = parts.next();
            let args: Vec<String> = parts.collect();
            assert_eq!(package(command.as_deref(), &args), expect, "{line}");
        };
        check("npx -y some-mcp@1.2.3", Some(("some-mcp", Some("1.2.3"))));
        check("npx -y @a/some-mcp", Some(("@a/some-mcp", None)));
        check("uvx some-mcp==1.0", Some(("some-mcp", Some("1.0"))));
        check("docker run mcp/x:2", Some(("mcp/x", Some("2"))));
        check("some-mcp --flag", Some(("some-mcp", None)));
        check("npx -y", None);
    }

    #[test]
    fn the_package_is_found_in_the_command() {
        use Started::{Bridge, Nothing, Package};
        check(
            "npx -y @modelcontextprotocol/server-github",
            Package("@modelcontextprotocol/server-github"),
        );
        check("npx -y firecrawl-mcp@1.2.3", Package("firecrawl-mcp"));
        check("npx -y @scope/name@latest --flag", Package("@scope/name"));
        check("npx --package some-mcp some", Package("some-mcp"));
        check("cmd /c npx -y some-mcp", Package("some-mcp"));
        check("C:\\node\\npx.cmd some-mcp", Package("some-mcp"));
        check("pnpm dlx some-mcp", Package("some-mcp"));
        check("uvx mcp-server-fetch", Package("mcp-server-fetch"));
        check("uvx mcp-server-fetch==1.0", Package("mcp-server-fetch"));
        check("uvx --from pkg-mcp run-it", Package("pkg-mcp"));
        check(
            "uv --directory /srv/x run weather-mcp",
            Package("weather-mcp"),
        );
        check("python -m mcp_server_time", Package("mcp_server_time"));
        check("python3 /srv/slack_mcp/server.py", Package("slack_mcp"));
        check("node /opt/gitlab-mcp/dist/index.js", Package("gitlab-mcp"));
        check("node ./weather.js", Package("weather"));
        check(
            "docker run -i --rm -e TOKEN mcp/sqlite",
            Package("mcp/sqlite"),
        );
        check(
            "docker run -i ghcr.io/org/x-mcp:1.2",
            Package("ghcr.io/org/x-mcp"),
        );
        check("docker run host:5000/x", Package("host:5000/x"));
        check("env TOKEN=1 npx some-mcp", Package("some-mcp"));
        check(
            "/usr/bin/github-mcp-server stdio",
            Package("github-mcp-server"),
        );
        check(
            "mcp-server-sqlite --db-path x",
            Package("mcp-server-sqlite"),
        );
        check(
            "npx -y mcp-remote https://mcp.linear.app/sse",
            Bridge("https://mcp.linear.app/sse"),
        );
        check("npx mcp-remote", Nothing);
        check("npx -y", Nothing);
        check("node /app/dist/index.js", Nothing);
        assert_eq!(started(None, &[]), Nothing);
    }
}
