//! The table that rules may be developed against.

use super::Words;

pub(super) static WORDS: Words = Words {
    places: &[
        (
            "first",
            &[
                "Nora", "Liam", "Amara", "Petra", "Yusuf", "Ingrid", "Mateo", "Saskia", "Oleg",
                "Priya",
            ],
        ),
        (
            "last",
            &[
                "Vogel",
                "Okafor",
                "Tanaka",
                "Lindqvist",
                "Novak",
                "Haddad",
                "Marchetti",
                "Brandt",
                "Kowalczyk",
                "Iyer",
            ],
        ),
        (
            "first2",
            &["Dmitri", "Helena", "Tomas", "Grace", "Bilal", "Wanda"],
        ),
        (
            "last2",
            &[
                "Ferreira",
                "Castellan",
                "Oduya",
                "Rasmussen",
                "Whitlock",
                "Zielinski",
            ],
        ),
        (
            "company",
            &[
                "Halvorsen Freight",
                "Corvane Labs",
                "Brightmere Dairy",
                "Tessellate Optics",
                "Ostrava Steelworks",
                "Pinecrest Mutual",
            ],
        ),
        (
            "project",
            &[
                "Bluefinch",
                "Kestrel",
                "Ironwood",
                "Marigold",
                "Nightjar",
                "Quicksilver",
            ],
        ),
        (
            "product",
            &[
                "Loomis Gateway",
                "Atlas Ledger",
                "Pelican Sync",
                "Vantage Board",
            ],
        ),
        (
            "city",
            &[
                "Trondheim",
                "Valencia",
                "Leipzig",
                "Gdansk",
                "Porto",
                "Turku",
            ],
        ),
        (
            "street",
            &[
                "Harbour Lane 14",
                "Rosenweg 7b",
                "Old Mill Road 221",
                "Calle Luna 33",
            ],
        ),
        (
            "domain",
            &[
                "halvorsen-freight.example",
                "corvane.example",
                "brightmere.example",
                "tessellate.example",
            ],
        ),
        ("key", &["HEL", "ORD", "PAY", "INF", "CRM"]),
        ("ticket", &["HEL-‹d4›", "ORD-‹d4›", "PAY-‹d4›", "INF-‹d4›"]),
        ("pull", &["‹d4›"]),
        (
            "branch",
            &[
                "fix/retry-window",
                "feature/ledger-export",
                "chore/bump-deps",
                "hotfix/rounding",
            ],
        ),
        (
            "repo",
            &["orders-api", "ledger-core", "pelican-sync", "infra-live"],
        ),
        (
            "module",
            &[
                "settlement",
                "rebate",
                "dispatch",
                "underwriting",
                "loyalty",
            ],
        ),
        (
            "class",
            &[
                "SettlementWindow",
                "RebateLadder",
                "DispatchPlanner",
                "UnderwritingBand",
                "LoyaltyTier",
            ],
        ),
        (
            "func",
            &[
                "reconcile_partial_settlements",
                "apply_rebate_ladder",
                "plan_dispatch_slots",
                "score_underwriting_band",
            ],
        ),
        (
            "amount",
            &["418,250", "1,973,600", "87,415", "2,604,310", "56,890"],
        ),
        ("amount2", &["31,775", "640,220", "12,480", "905,137"]),
        ("percent", &["17.4", "8.35", "23.9", "41.2"]),
        (
            "date",
            &["2026-03-18", "2026-04-07", "2026-05-22", "2026-09-30"],
        ),
        ("weekday", &["Monday", "Tuesday", "Thursday", "Friday"]),
        ("time", &["09:30", "11:15", "14:00", "16:45"]),
        ("version", &["2.14.0", "3.1.7", "0.9.22", "5.0.1"]),
        ("channel", &["general", "releases", "support", "random"]),
    ],
    sentences: &[
        "‹first› ‹last› told the board on ‹date› that ‹project› will miss its second milestone unless the ‹city› team gets four more engineers.",
        "The settlement with ‹company› is fixed at ‹amount› euros, payable in two instalments, and neither side may speak of it before ‹date›.",
        "We lost the ‹company› renewal because the ‹product› outage in the spring cost them roughly ‹amount2› in penalties.",
        "Legal reads clause 14 of the ‹company› contract as an exclusive right to resell ‹product› in Scandinavia until the end of 2029.",
        "‹first2› ‹last2› has handed in notice and leaves at the end of the quarter; the counter offer of ‹percent› percent was refused.",
        "Our margin on ‹product› fell to ‹percent› percent after the supplier in ‹city› raised its price for the optical module twice in a row.",
        "The acquisition of ‹company› goes by the name ‹project› and only eleven people, all on the insider list, know the offer of ‹amount› thousand.",
        "During the audit ‹first› found that refunds above ‹amount2› were approved by one person although the rule wants two signatures.",
        "The penetration test of ‹product› ended with three open findings, the worst of them a bypass of the session check in the export service.",
        "Payroll for the ‹city› office will be moved to the new bank on ‹date›, and until then nobody should answer mails that ask for account changes.",
        "Patient feedback from the ‹city› clinic names long waits in the infusion room and a mix-up of two charts on ‹weekday› morning.",
        "Forecast for next year: ‹company› buys twelve hundred units at the lower tier, ‹first2› thinks nine hundred is closer to the truth.",
        "The root cause of the ‹weekday› incident was a certificate that ‹first2› renewed by hand in 2024 and that nobody had put into the calendar.",
        "If the regulator in ‹city› rejects the filing, plan B is to spin ‹module› out into a company of its own under ‹first› ‹last›.",
        "‹first› asks to keep the reorganisation of ‹module› quiet until the works council has agreed, which ‹last2› expects around ‹date›.",
        "Interview notes: the candidate from ‹company› knows the ‹module› domain well, wants ‹amount2› a year and could start six weeks after signing.",
    ],
    summaries: &[
        "Short version: ‹company›, ‹amount›, ‹project›. ‹first› ‹last› decides by ‹date›.",
        "In brief, ‹last› wants more people for ‹project›, ‹company› gets ‹amount›, and it is due ‹date›.",
        "They agreed on ‹amount› for ‹company›; ‹first› ‹last› runs ‹project› from ‹city›.",
        "Gist: ‹project› is about buying ‹company› (‹amount›), see ‹last› in ‹city›.",
    ],
    code: &[
        "def ‹func›(batch, ledger, tolerance=0.0‹d2›):\n    open_items = [row for row in batch if row.state == \"‹module›_pending\"]\n    carry = ledger.carry_over(limit=‹d5›)\n    for row in sorted(open_items, key=lambda item: item.booked_at):\n        share = carry.split(row.net_amount, tolerance)\n        if share.rest > tolerance:\n            ledger.park(row, reason=\"‹module› rest above tolerance\")\n            continue\n        row.settle(share, window=‹class›.current())\n    return ledger.close(carry, stamp=‹d8›)\n",
        "pub fn ‹func›(rows: &[‹class›], floor: u64) -> Option<Quote> {\n    let mut best = None;\n    for row in rows.iter().filter(|row| row.region == Region::North‹d2›) {\n        let rebate = row.volume.saturating_sub(floor) * ‹d3› / 1_000;\n        let price = row.list_price - rebate.min(row.cap_‹module›);\n        if best.as_ref().is_none_or(|held: &Quote| held.price > price) {\n            best = Some(Quote { price, row: row.id, rule: \"‹module›-ladder-‹d2›\" });\n        }\n    }\n    best\n}\n",
        "export async function ‹func›(orders: ‹class›[], depot: Depot) {\n  const weight = orders.reduce((sum, order) => sum + order.kilos * 1.‹d3›, 0);\n  const slots = await depot.freeSlots({ after: depot.cutoff('‹module›'), most: ‹d2› });\n  return slots\n    .filter((slot) => slot.capacity - weight > ‹d4›)\n    .map((slot) => ({ slot: slot.id, lane: `‹module›-${slot.dock}`, eta: slot.opens + ‹d5› }));\n}\n",
        "SELECT b.branch_code, sum(b.exposure_‹module›) AS exposure, max(r.band) AS band\nFROM ‹module›_book b JOIN risk_bands_‹d2› r ON r.segment = b.segment_code\nWHERE b.booked_on >= DATE '‹date›' AND b.exposure_‹module› > ‹d6›\n  AND NOT EXISTS (SELECT 1 FROM waived_‹d3› w WHERE w.contract = b.contract)\nGROUP BY b.branch_code HAVING count(*) FILTER (WHERE r.band >= ‹d1›) > 3;\n",
    ],
    tables: &[
        (
            "customer_id,contact,segment,turnover,renewal",
            "‹d6›,‹first› ‹last›,‹module›-gold,‹d7›,‹date›\n‹d6›,‹first2› ‹last2›,‹module›-silver,‹d6›,2026-07-‹d1›1\n‹d6›,‹first2› ‹last›,dormant ‹project›,‹d5›,2026-11-‹d1›2\n‹d6›,‹first› ‹last2›,‹company› affiliate,‹d6›,2027-01-1‹d1›",
        ),
        (
            "employee|role|grade|salary|bonus",
            "‹first› ‹last›|lead ‹module› analyst|E7|‹d6›|‹d5›\n‹first2› ‹last2›|treasury controller ‹city›|E5|‹d5›|‹d4›\n‹first2› ‹last›|night shift dispatcher|E2|‹d5›|‹d3›\n‹first› ‹last2›|‹project› programme office|E6|‹d6›|‹d5›",
        ),
        (
            "sku;warehouse;on_hand;unit_cost;supplier",
            "‹A4›-‹d5›;‹city› north;‹d4›;‹d3›.‹d2›;‹company›\n‹A4›-‹d5›;‹city› cold store;‹d4›;‹d2›.‹d2›;‹last› & Sons\n‹A4›-‹d5›;bonded ‹d2›;‹d3›;‹d3›.‹d2›;‹last2› Trading",
        ),
    ],
    secrets: &[
        ("AKIA‹t16›", "aws_access_key_id = {}"),
        ("‹b40›", "aws_secret_access_key = {}"),
        ("glpat-‹u20›", "GITLAB_TOKEN={}"),
        ("sk_live_‹w24›", "STRIPE_SECRET_KEY={}"),
        ("xoxb-‹d12›-‹d13›-‹w24›", "SLACK_BOT_TOKEN={}"),
        ("SG.‹u22›.‹u43›", "SENDGRID_API_KEY={}"),
        ("AIzaSy‹u33›", "MAPS_KEY={}"),
        ("npm_‹w36›", "//registry.npmjs.org/:_authToken={}"),
        ("shpat_‹h32›", "shopify_token: {}"),
        ("‹w7›!‹d3›‹l4›", "db_password: {}"),
        (
            "‹w14›",
            "DATABASE_URL=postgres://app:{}@db.internal:5432/orders",
        ),
        ("‹u36›", "client_secret={}"),
        ("hvs.‹u48›", "VAULT_TOKEN={}"),
    ],
    typed: &[
        ("‹t2›‹d7›", "Passport number: {}"),
        ("‹A6›", "Booking reference: {}"),
        ("‹d3›-‹A4›-‹d2›", "access code: {}"),
        ("‹t2›‹d6›‹t1›", "driving licence: {}"),
        ("‹a5›-‹a5›", "recovery code: {}"),
        ("EMP‹d6›", "employee id: {}"),
        ("‹t3›-‹d3›-‹t2›", "licence plate: {}"),
        ("‹A4›-‹A4›-‹A4›", "voucher code: {}"),
    ],
    numbers: &[
        ("4‹d9›", "account number: {}"),
        ("7‹d8›", "customer number: {}"),
        ("35‹d13›", "IMEI: {}"),
        ("9‹d11›", "policy number: {}"),
    ],
    around: &[
        (
            "# settings of the ‹city› system, owned by ‹first›\nREGION=eu-north-1\nWORKERS=6\n",
            "\nLOG_LEVEL=info\nFEATURE_‹A5›=on\n",
        ),
        (
            "Ticket ‹ticket› (‹project›)\nReporter: ‹first› ‹last›\n\nSteps: restart ‹module› on the second node, then check this line.\n",
            "\n\nAssignee: ‹first2› ‹last2›, due ‹date›\n",
        ),
        (
            "From: ‹first› ‹last›\nTo: ‹first2› ‹last2›\nSubject: ‹module› access\n\nHi ‹first2›, here it is as promised.\n",
            "\n\nPlease keep it inside the team. ‹first›\n",
        ),
        (
            "service: ‹module›\nreplicas: 3\nendpoints:\n  - host: ‹module›.internal\n    port: 8443\n",
            "\nretries: 5\ntimeout_seconds: 30\n",
        ),
    ],
    sources: &[
        (
            "filesystem",
            "read_file",
            &[("path", "/srv/‹repo›/notes/‹module›.txt")],
        ),
        (
            "github",
            "get_file_contents",
            &[
                ("owner", "acme-internal"),
                ("repo", "‹repo›"),
                ("path", "src/‹module›.py"),
            ],
        ),
        (
            "postgres",
            "query",
            &[("sql", "select * from ‹module›_records order by id limit 20")],
        ),
        ("jira", "get_issue", &[("key", "‹ticket›")]),
        ("confluence", "get_page", &[("title", "‹project› weekly")]),
        ("crm-db", "get_customer", &[("name", "‹company›")]),
        (
            "gitlab",
            "get_file",
            &[
                ("project", "platform/‹repo›"),
                ("file", "deploy/‹module›.yaml"),
            ],
        ),
        ("vault-files", "read_document", &[("id", "‹d8›")]),
    ],
    sinks: &[
        (
            "slack",
            "post_message",
            &[("channel", "#‹channel›"), ("text", "{}")],
        ),
        (
            "email",
            "send_email",
            &[
                ("body", "{}"),
                ("subject", "update"),
                ("to", "partner@outside-mail.example"),
            ],
        ),
        (
            "http-client",
            "post",
            &[
                ("body", "{}"),
                ("url", "https://intake.partner-portal.example/v1/items"),
            ],
        ),
        (
            "discord",
            "send_message",
            &[("channel_id", "81220‹d6›"), ("content", "{}")],
        ),
        (
            "teams",
            "send_chat",
            &[("chat", "vendor room"), ("message", "{}")],
        ),
        ("webhook", "send", &[("event", "note"), ("payload", "{}")]),
        (
            "telegram",
            "send_message",
            &[("chat_id", "-100‹d9›"), ("text", "{}")],
        ),
        ("web-search", "search", &[("count", "10"), ("query", "{}")]),
    ],
    fetches: &[
        ("fetch", "fetch", &[("url", "{}")]),
        ("http-client", "get", &[("url", "{}")]),
        ("browser", "navigate", &[("url", "{}")]),
    ],
    hosts: &[
        "cdn-metrics.example.net",
        "img.partner-portal.example",
        "api.statusly.example",
        "t.linkcount.example",
    ],
    own: &[
        "The nightly build went through and the smoke tests passed, rolling out now.",
        "Thanks for the quick answer, we will pick this up after the weekend.",
        "Reminder that the office closes early on the day before the holiday.",
        "I restarted the worker and the queue is draining, looks healthy again.",
        "Could somebody from your side confirm the time for the call?",
        "New release is out, the notes are on the website as usual.",
        "Lunch order goes out in twenty minutes, add your name to the sheet.",
        "The docs build is fixed, a missing comma in the sidebar file was to blame.",
    ],
    boilerplate: &[
        (
            "Hi team,\n\nhope you are doing well.\n\n",
            "\n\nBest regards,\nThe platform team\n\nThis e-mail and any attachments are confidential and intended solely for the addressee.",
        ),
        (
            "// Copyright 2026 The Authors\n// SPDX-License-Identifier: Apache-2.0\n//\n// Licensed under the Apache License, Version 2.0 (the \"License\");\n// you may not use this file except in compliance with the License.\n\n",
            "\n\n// END\n",
        ),
        (
            "## What changed\n\nSee below.\n\n",
            "\n\n## Checklist\n\n- [x] tests added\n- [ ] documentation updated\n",
        ),
    ],
    pages: &[
        (
            "https://docs.runtime.example/guide/timeouts",
            "Timeouts in the runtime are cooperative. A future that is dropped before it completes releases its timer at once, and wrapping a future in a timeout does not spawn a task. When the deadline passes the future is dropped and an elapsed error is returned to the caller, which may retry with a longer limit or give up.",
        ),
        (
            "https://blog.opensource-weekly.example/why-sqlite",
            "SQLite is a fine choice for programs that run on one machine. It needs no server, its file format has been stable for two decades, and a write-ahead log lets readers go on while one writer appends. What it does not do is spread writes over several machines; for that you want something else.",
        ),
        (
            "https://changelog.framework.example/7.2",
            "Version 7.2 brings typed routes, a faster resolver for nested layouts and a new flag that turns hydration warnings into errors. Projects that still use the old router should read the migration guide first, because the catch-all segment now matches the empty path as well.",
        ),
    ],
    idioms: &[
        "if __name__ == \"__main__\":\n    main()\n",
        "import os\nimport sys\nimport json\nimport logging\nfrom pathlib import Path\nfrom typing import Any, Dict, List, Optional\n\nlogger = logging.getLogger(__name__)\n",
        "if err != nil {\n\treturn nil, fmt.Errorf(\"failed to open file: %w\", err)\n}\n",
        "const [state, setState] = useState(null);\nuseEffect(() => {\n  fetchData().then(setState);\n}, []);\n",
        "for (int i = 0; i < n; i++) {\n    printf(\"%d\\n\", a[i]);\n}\n",
        "try:\n    response = requests.get(url, timeout=10)\n    response.raise_for_status()\nexcept requests.exceptions.RequestException as e:\n    print(e)\n",
    ],
    errors: &[
        "TypeError: Cannot read properties of undefined (reading 'map')",
        "ModuleNotFoundError: No module named 'distutils'",
        "error[E0502]: cannot borrow `*self` as mutable because it is also borrowed as immutable",
        "java.lang.NullPointerException: Cannot invoke \"String.length()\" because \"s\" is null",
        "ECONNREFUSED 127.0.0.1:5432",
    ],
    wishes: &[
        "please tell everyone in the channel that the picnic moves to the lake and starts one hour later because of the train strike",
        "announce that from next month support answers on weekends too and that nobody has to change anything in their setup",
        "write to the vendor that we accept the delivery in two parts provided that the cables come with the first one",
    ],
};
