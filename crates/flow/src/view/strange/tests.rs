//! What is strange and what is not.

use super::*;

fn check(text: &str, expect: bool) {
    assert_eq!(!find(text, &[]).is_empty(), expect, "{text}");
}

#[test]
fn the_table_is_whole() {
    let rows: Vec<usize> = PAIRS.lines().map(str::len).collect();
    assert_eq!(rows, vec![usize::from(OTHER) + 1; usize::from(OTHER) + 1]);
    assert!(
        PAIRS
            .lines()
            .all(|line| line.bytes().all(|byte| byte >= ZERO))
    );
}

#[test]
fn what_people_and_programs_write_is_not_strange() {
    for text in [
        "Could you move the call to Thursday? The train from Ghent is late again.",
        "Könnten Sie den Termin auf Donnerstag verschieben? Die Züge fahren heute unregelmäßig.",
        "Nie wiem, czy zdążymy przed świętami, ale spróbujemy wysłać wszystko w środę.",
        "Haluaisin siirtää kokouksen torstaille, koska juna on taas myöhässä.",
        "Перенесём созвон на четверг, поезд опять опаздывает.",
        "木曜日に会議を移してもらえますか。電車がまた遅れています。",
        "let total: u64 = rows.iter().filter(|row| row.open).map(|row| row.cents).sum();",
        "curl -fsSL https://example.org/install.sh | sh -s -- --prefix=/opt/tool --yes",
        "{\"limit\": 50, \"offset\": 100, \"sort\": \"created_at:desc\", \"fields\": [\"id\", \"name\"]}",
        "2026-03-04T09:15:22Z INFO worker{id=7}: drained 1204 jobs in 3.2s (p99 41ms)",
        "The fix is in 9fceb02d0ae598e95dc970b74767f19372d61af8, thanks!",
        "request 0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e90 failed twice",
        "|  name  |  price |\n|--------|-------:|\n|  bolt  |   0.12 |\n|  nut   |   0.08 |",
        "Done ✅ and shipped 🎉🎉🎉 — see you tomorrow 👋",
        "=======================================================",
        "SELECT count(*) FROM orders o JOIN items i ON i.order_id = o.id WHERE o.state <> 'new'",
    ] {
        check(text, false);
    }
}

#[test]
fn what_nobody_can_read_is_strange() {
    for text in [
        "status: qX7vPz1KfYw0Rr8mTcJ2",
        "Gur dhvpx oebja sbk whzcf bire gur ynml qbt naq gura fbzr",
        "Wdv jqgns fkzr bw tpe xqvl mnch dzpr, vko ptxg bnzw qerl.",
        "1T1h1e1 1n1i1g1h1t1 1s1h1i1f1t1 1m1o1v1e1s",
        "🐔🐱🐵🐶🐺🐻🐼🐽🐾🐿",
        "9KTVPZ:%EJC-X4*A:U$2/GQ8N+L0",
        "tHe qUIcK reLEAsE oF tHE nEw WeBsITe wEnT weLL AnD EVerYbOdy Is hAPpy wItH iT",
        // Every byte has its highest bit set, which a hash has not.
        "a09b8c9a8dfe8c9a91d09e93939a8ddf",
    ] {
        check(text, true);
    }
}

#[test]
fn what_was_read_otherwise_is_passed_over() {
    let text = "status: qX7vPz1KfYw0Rr8mTcJ2 and more";
    let span = Range { start: 8, end: 28 };
    assert!(find(text, &[span]).is_empty());
    let found = find(text, &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0].start >= 7 && found[0].end <= 29, "{found:?}");
}

#[test]
fn markup_and_code_are_not_strange() {
    for text in [
        ".btn{color:#fff;background:#336699;padding:4px 8px;border-radius:4px}",
        "const f=(a,b)=>a.map(x=>x*b).filter(Boolean).reduce((s,x)=>s+x,0);",
        r#"<div class="container mx-auto"><h1>News</h1><p>We moved to a new office in town.</p></div>"#,
        r"\begin{equation} E=mc^2 \sum_{i=0}^{n} x_i^2 \end{equation}",
        r#"<svg width="24" height="24" viewBox="0 0 24 24"><path d="M12 2L2 7l10 5 10-5-10-5z"/></svg>"#,
        r"^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$",
        r#"<?xml version="1.0" encoding="UTF-8"?><note><to>Ana</to><from>Tom</from><body>See you</body></note>"#,
        r#"<html><body><p>Hello</p><img src="https://cdn.acme.example/logo.png"></body></html>"#,
        r#"<html><body><p style="color:#336699">Hello</p><img src="https://cdn.acme.example/logo.png"></body></html>"#,
        r#"{"name":"widget-parser","version":"2.4.1","scripts":{"build":"tsc -p .","test":"jest --ci"},"dependencies":{"react":"^18.2.0","lodash":"~4.17.21"}}"#,
        "services:\n  web:\n    image: nginx:1.25-alpine\n    ports:\n      - \"8080:80\"\n    environment:\n      - LOG_LEVEL=info\n    depends_on: [db, cache]\n",
        "[package]\nname = \"widget\"\nversion = \"0.3.1\"\nedition = \"2024\"\n\n[dependencies]\nserde = { version = \"1.0\", features = [\"derive\"] }\n",
        "INSERT INTO orders(id,state,total) VALUES(1,'new',12.50),(2,'open',8.00) ON CONFLICT(id) DO UPDATE SET state=EXCLUDED.state;",
        r#"for f in "$@"; do [ -f "$f" ] && sed -i.bak -e 's/foo/bar/g' "${f%.txt}.md" || echo "no $f" >&2; done"#,
        "build: main.o util.o\n\t$(CC) -o app main.o util.o\nclean:\n\trm -f *.o app\n.PHONY: clean\n",
        "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -12,7 +12,7 @@ fn main() {\n-    let x=parse(&args[1])?;\n+    let x = parse(&args[1]).unwrap_or(0);\n",
        "@media (max-width:600px){.nav>li:not(:last-child){margin:0 0 8px;display:flex}a:hover{color:rgba(0,0,0,.5)}}",
        r#"body{margin:0;font:14px/1.5 "Helvetica Neue",Arial,sans-serif;color:#333}h1,h2{font-weight:600}#main{width:calc(100% - 20px);transform:translate(-50%,-50%)}"#,
        "export const get=<T>(url:string,opts?:RequestInit):Promise<T>=>fetch(url,{...opts}).then(r=>r.json() as T);",
        r#"document.querySelectorAll("a[href^='http']").forEach(el=>{el.target="_blank";el.rel="noopener"});"#,
        r#"func (s *Server) Get(ctx context.Context,id string)(*User,error){if u,ok:=s.users[id];ok{return u,nil};return nil,fmt.Errorf("no user %q",id)}"#,
        "impl<'a,T:Into<String>> From<&'a [T]> for List{fn from(v:&'a [T])->Self{Self(v.iter().map(|x|x.clone().into()).collect::<Vec<_>>())}}",
        "def f(xs,*args,**kw):return {k:[v for v in vs if v>0]for k,vs in zip(xs,args)}|{'n':len(xs)}\nprint(f'{f([1,2],[3])!r}')",
        "| Name | Price |\n|:-----|------:|\n| **Bolt** | `0.12` |\n| [Nut](https://acme.example/nut) | _0.08_ |\n",
        "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nDTSTART:20260304T090000Z\nSUMMARY:Planning\nLOCATION:Room 4\nEND:VEVENT\nEND:VCALENDAR",
        "name;city;amount\n\"Meyer, Ana\";Berlin;12,50\n\"Novak, Petr\";Brno;8,00\n",
        "#include <stdio.h>\nint main(int argc,char**argv){for(int i=0;i<argc;i++){printf(\"%s\\n\",argv[i]);}return 0;}",
        "public static<T> List<T> of(T...xs){return Arrays.stream(xs).filter(x->x!=null).collect(Collectors.toList());}",
        r#"<?php foreach($rows as $key=>$row){echo htmlspecialchars($row["name"])."<br>\n";} ?>"#,
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$",
        r"\frac{\partial f}{\partial x}=\lim_{h\to0}\frac{f(x+h)-f(x)}{h},\quad\forall x\in\mathbb{R}^n",
        r#"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Home</title><link rel="stylesheet" href="/style.css"></head><body class="dark"></body></html>"#,
        r#"<td align="center" valign="top" style="padding:0 20px 10px;font-family:Arial,sans-serif;font-size:14px;line-height:20px;color:#555555">Thank you!</td>"#,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><circle cx="50" cy="50" r="40" stroke="black" fill="red"/></svg>"#,
        r#"awk -F: '$3>=1000&&$7!~/nologin/{print $1":"$6}' /etc/passwd|sort -u"#,
        "query($id:ID!){user(id:$id){name,posts(first:10){edges{node{title}}}}}",
    ] {
        check(text, false);
    }
}

/// What is hidden between markup is found as well as by itself.
#[test]
fn what_stands_in_markup_and_code_is_judged() {
    let hidden = [
        "%96 3@2C5 92D 28C665 E@ D6== E96 {:D3@? @77:46 3J |2C49 2?5 ",
        r#"4'#EB*sG"6*#fc%6?+^i>>I']90bff=pe2'3"@$.7r]7I(O%,H(fNaL=r^jM3Ec\q7Nr=87m]0L"#,
        "8&*&v4Fp9;aU29i10@m;7gaD12SWom2}@&9J{JjCO*B_0R!B5gTmS<w6b~0yIUh??Og;!pR7^D=",
        "Gsv ylziw szh ztivvw gl hvoo gsv Orhylm luurxv yb Nzixs zmw ",
        "Ufynjsy Rfwnf Pjqqjw bfx firnyyji ts Yzjxifd bnym hmjxy ufns",
        r#"Tug ^l]$k u]\ ]t$ggk "l \ghh "ug Lw\^l- lddw!g ^> M]$!u ]-k "#,
        "$vqYJG=z#:,OL>d]U#XY[]r^K1x&+1kpM%Ag^4IIU8E2zsQ%9S%Olu3f<jtRY2XS5@swRA3jlC",
        "NkhoQSNiBhQvKGw8TNKW3kbNIGYiO0C9aB3Q0JvIyODTVnUxtlFFfonl6Lx2r13l4IAxW7qNfxhCF09bo",
        "ipdtm32t29r2o5krdpyj04gqk735caewtrqp9jh8ypjhvxiu2stjadrflu0ujejluoxq87vnqdg9zuxanf8vciyl738oz",
        "3%A:495+7*W$FC6323+JR6+WDF*PL%RNPXW4J+TF:KRS$DHL1FZ6K5X9CA% FZB.+XTEKR99NCW7%Q/ G  URNY5",
        r"fv?&lk([smaq_e}f<\@{'^_<de@@y$o!&'&)n+}c\pv]teq)an?!b[[ww;&+/f-?ep'--ti[<mj{;[t|@,d",
        "vl=>nj,fx=sn.kc.ob+fa(zj*dc.ik)xj=if)sk)xg+kj(xm.fn*hj{fa,gp=yf,jk,rj,vn+ta=>fr=>jj.ip)is(ll{xx{jh=es(ji,qm{or{ag*if(mr=>bw.tv)wg=>oh(kd=or=>bf+ca(de*ks{mi(hq)",
        r#"a)b;c=d[e@a,b&c"d[e<a(b+c&d^e[a(b)c}d:e*a_b\c~d.e_a:b"c~d>e+a:b!c-d:e/a]b;c\d)e(a;b~c=d:e,a_b~c*d~e&a[b!c<d'e'a_b&c'd\e<a~b^c{d&e<a%b?c,d=e[a,b'c?d_e$a]b%c(d"e\a}b\c[d;e;a_b%c\d>e_a'b=c'd{e?a_b@"#,
    ];
    for text in hidden {
        check(text, true);
        for (before, after) in [
            ("<html><body><p>", "</p></body></html>"),
            ("<div class=\"", "\"><h1>News</h1></div>"),
            ("<a href=\"/go?q=", "\">our blog</a>"),
            ("<path d=\"", "\"/>"),
            (".btn{color:red;content:\"", "\";padding:4px}"),
            ("const data=\"", "\";export default data.map(x=>x.trim());"),
            ("def f():\n    return '", "'\n"),
            ("\\begin{equation}", "\\end{equation}"),
            ("^[a-z]+", "[0-9]{2,}$"),
        ] {
            check(&[before, text, after].concat(), true);
        }
    }
}
