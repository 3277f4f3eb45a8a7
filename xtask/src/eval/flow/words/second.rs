//! The table that no author of a rule looks at: other people, trades, forms and tools.

use super::Words;

pub(super) static WORDS: Words = Words {
    places: &[
        (
            "first",
            &[
                "Aurelio", "Mbali", "Siobhan", "Takumi", "Freya", "Lorcan", "Zeynep", "Anselm",
                "Chidinma", "Rafaela",
            ],
        ),
        (
            "last",
            &[
                "Quintanilla",
                "Mwangi",
                "Oyelaran",
                "Hashimoto",
                "Thorvald",
                "Devereux",
                "Aydin",
                "Pfeiffer",
                "Nwosu",
                "Albrecht",
            ],
        ),
        (
            "first2",
            &["Gethin", "Xiomara", "Bartosz", "Leilani", "Hamza", "Signe"],
        ),
        (
            "last2",
            &[
                "Stavros",
                "Yellowlees",
                "Bjornsen",
                "Kapoor",
                "Montague",
                "Ueda",
            ],
        ),
        (
            "company",
            &[
                "Saltmarsh Shipping",
                "Verdant Genomics",
                "Copperline Rail",
                "Umbra Insurance",
                "Foxglove Pharma",
                "Larkhill Aerospace",
            ],
        ),
        (
            "project",
            &[
                "Tamarind",
                "Glasswing",
                "Redshank",
                "Obsidian",
                "Wolfram",
                "Halcyon",
            ],
        ),
        (
            "product",
            &[
                "Meridian Pump",
                "Cinder Router",
                "Lantern CMS",
                "Orrery Scheduler",
            ],
        ),
        (
            "city",
            &["Antwerp", "Sapporo", "Cork", "Kigali", "Bergamo", "Tampere"],
        ),
        (
            "street",
            &[
                "Kade 88",
                "12 Fenwick Terrace",
                "Via Alta 4",
                "Birch Close 19",
            ],
        ),
        (
            "domain",
            &[
                "saltmarsh.example",
                "verdant-genomics.example",
                "copperline.example",
                "umbra.example",
            ],
        ),
        ("key", &["OPS", "LAB", "SHIP", "CLM", "WEB"]),
        ("ticket", &["OPS-‹d3›", "LAB-‹d5›", "SHIP-‹d4›", "CLM-‹d4›"]),
        ("pull", &["‹d3›"]),
        (
            "branch",
            &[
                "dev/assay-import",
                "release/24q3",
                "bug/null-berth",
                "spike/tile-cache",
            ],
        ),
        (
            "repo",
            &[
                "berth-planner",
                "assay-pipeline",
                "claims-desk",
                "signal-box",
            ],
        ),
        (
            "module",
            &[
                "berthing",
                "sequencing",
                "interlocking",
                "subrogation",
                "titration",
            ],
        ),
        (
            "class",
            &[
                "BerthWindow",
                "AssayPlate",
                "InterlockRoute",
                "ClaimReserve",
                "DoseCurve",
            ],
        ),
        (
            "func",
            &[
                "assign_late_berths",
                "normalise_plate_reads",
                "release_locked_route",
                "estimate_claim_reserve",
            ],
        ),
        (
            "amount",
            &["7,302,915", "264,770", "53,118", "1,148,036", "990,455"],
        ),
        ("amount2", &["18,664", "471,329", "6,057", "83,940"]),
        ("percent", &["3.08", "62.7", "14.95", "29.1"]),
        (
            "date",
            &[
                "11 June 2026",
                "2 October 2026",
                "29 January 2027",
                "14 August 2026",
            ],
        ),
        ("weekday", &["Wednesday", "Saturday", "Sunday", "Friday"]),
        ("time", &["7:50 am", "1:20 pm", "5:05 pm", "10:40 am"]),
        ("version", &["1.0.0-rc.3", "12.4.1", "4.7.9", "2026.2"]),
        ("channel", &["announcements", "vendors", "lobby", "help"]),
    ],
    sentences: &[
        "The hull survey of the vessel chartered from ‹company› showed pitting near frame ‹d2›, and ‹first› ‹last› wants the charter rate cut by ‹percent› percent before anybody signs.",
        "Trial arm B of ‹project› was stopped on ‹date› after two participants in ‹city› developed arrhythmia; the sponsor has not been told yet.",
        "Reserve for the claim of ‹company› goes up to ‹amount›, since the expert of the other side puts the share of fault at ‹percent› percent.",
        "‹first2› ‹last2› admits in the minutes that the signal box ran for nine nights with the interlocking override engaged.",
        "Do not quote to ‹company› below ‹amount2› per unit; ‹first› found out that their current supplier for the ‹product› goes bankrupt in autumn.",
        "The tenant of the ground floor at ‹street› owes fourteen months and has agreed in writing to leave by ‹date› against a payment of ‹amount2›.",
        "Whistleblower report ‹d4›: batches from line three were relabelled after ‹weekday›, on the order of ‹last2›, to hide the failed titration.",
        "‹project› is our code word for closing the ‹city› plant; ‹d3› people will be told on ‹date›, at ‹time›, by ‹first› ‹last› in person.",
        "The embargoed paper claims a ‹percent› percent better yield than ‹company›, but the plates of week seven were never sequenced again.",
        "Counsel advises against answering the letter of ‹last2›: admitting that the ‹product› shipped with the old valve would void the cover at ‹company›.",
        "Bidding strategy for the port concession: open at ‹amount›, walk away at ten percent more, and let ‹first2› play the reluctant one.",
        "Scholarship board ‹city›: ‹first› is ranked second, the vote was five to four, and the remark about the family must not get into the letter.",
        "The donor behind the ‹amount› gift to the museum is ‹first› ‹last›, who wants no plaque, no press and no thank-you dinner.",
        "Our spare key fits the old lock of the ‹city› depot, the alarm there is off between ‹time› and the arrival of the first driver.",
        "‹first2› thinks that ‹company› poached the ‹module› team with a signing bonus, and asks for a quiet look at who downloaded what.",
    ],
    summaries: &[
        "tl;dr ‹company› / ‹amount› / ‹project› / ‹last›, ‹city›",
        "So what it comes down to: ‹first› ‹last› has ‹amount› on the table for ‹company› and calls the thing ‹project›.",
        "Facts worth knowing about ‹project›: ‹last2› and ‹last› disagree, ‹company› is hit, number is ‹amount›.",
        "Take-away for you: ‹last› in ‹city›, ‹company›, about ‹amount2› and ‹amount›, before ‹date›.",
    ],
    code: &[
        "func (p *‹class›) ‹func›(ctx context.Context, tide Tide) ([]Slot, error) {\n\tdraft := p.keelDepth + tide.Low*0.‹d3›\n\tout := make([]Slot, 0, ‹d2›)\n\tfor _, quay := range p.quaysByDepth(draft) {\n\t\tif quay.crane.outage.Covers(tide.At(‹d4›)) || quay.lane == \"‹module›-‹d2›\" {\n\t\t\tcontinue\n\t\t}\n\t\tout = append(out, Slot{Quay: quay.code, Minutes: ‹d3› + quay.slack})\n\t}\n\treturn out, p.journal.note(\"‹module›\", len(out))\n}\n",
        "class ‹class›\n  PLATEAU_‹d2› = ‹d4›.‹d2›\n  def ‹func›(reads, blank:)\n    corrected = reads.map { |well| well.signal - blank.mean * 1.‹d2› }\n    drift = corrected.each_cons(‹d1›).sum { |a, b| (b - a).abs } / PLATEAU_‹d2›\n    raise DriftTooHigh, \"‹module› drift #{drift}\" if drift > 0.‹d4›\n    corrected.map { |value| value / plateau_for(:‹module›, lot: ‹d6›) }\n  end\nend\n",
        "public Optional<Route> ‹func›(‹class› route, Clock clock) {\n    var held = lockTable.holdersOf(route.entry(), route.exit());\n    if (held.stream().anyMatch(h -> h.priority() > ‹d3› && !h.expired(clock.millis() - ‹d5›))) {\n        audit.warn(\"‹module› route \" + route.code() + \" kept, rule ‹d3›\");\n        return Optional.empty();\n    }\n    lockTable.releaseAll(held, Reason.‹A6›_TIMEOUT);\n    return Optional.of(route.withState(State.FREE_AFTER_‹d2›));\n}\n",
        "‹func› <- function(claims, inflation = 1.0‹d3›) {\n  tri <- xtabs(paid ~ accident_year + dev_lag, claims[claims$line == \"‹module›-‹d2›\", ])\n  f <- colSums(tri[, -1]) / colSums(tri[, -ncol(tri)])\n  tail_factor <- exp(‹d1›.‹d3› * min(f) - ‹d2›)\n  ultimate <- tri[, ncol(tri)] * prod(f) * tail_factor * inflation\n  sum(ultimate) - sum(claims$paid) + ‹d6›\n}\n",
    ],
    tables: &[
        (
            "patient\tward\tdiagnosis\tdose_mg\tadmitted",
            "‹first› ‹last›\t‹city› ‹d1›B\tatrial flutter, ‹module› arm\t‹d3›\t‹date›\n‹first2› ‹last2›\tday clinic\tsuspected ‹project› reaction\t‹d2›\t‹date›\n‹first› ‹last2›\tICU bed ‹d2›\tsepsis after line change\t‹d4›\t‹date›",
        ),
        (
            "{\"container\":\"x\"}",
            "{\"container\":\"‹t4›‹d7›\",\"shipper\":\"‹company›\",\"declared\":\"machine parts ‹project›\",\"value\":‹d6›}\n{\"container\":\"‹t4›‹d7›\",\"shipper\":\"‹last› & ‹last2›\",\"declared\":\"lithium cells lot ‹d5›\",\"value\":‹d7›}\n{\"container\":\"‹t4›‹d7›\",\"shipper\":\"‹company›\",\"declared\":\"bonded spirits ‹city›\",\"value\":‹d5›}",
        ),
        (
            "policy  holder  reserve  adjuster",
            "CL‹d7›  ‹first› ‹last›  ‹d6›.‹d2›  ‹last2› (‹city›)\nCL‹d7›  ‹company› fleet  ‹d7›.‹d2›  ‹first2›\nCL‹d7›  ‹first2› ‹last2›  ‹d5›.‹d2›  pending ‹project› review\nCL‹d7›  estate of ‹last›  ‹d6›.‹d2›  ‹first›",
        ),
    ],
    secrets: &[
        ("dop_v1_‹h64›", "do_token: \"{}\""),
        ("github_pat_‹w22›_‹w59›", "password {}"),
        ("rk_live_‹w24›", "  \"billing_key\": \"{}\","),
        ("lin_api_‹w40›", "LINEAR_API_KEY='{}'"),
        ("‹d10›:AA‹u33›", "bot token {} (do not share)"),
        ("dapi‹h32›", "token = {}"),
        ("hf_‹l34›", "export HF_TOKEN={}"),
        ("glsa_‹w32›_‹h8›", "grafana.serviceAccountToken: {}"),
        ("‹l5›-‹l6›-‹d3›-‹l5›", "root password is {}"),
        ("‹w20›", "redis://:{}@cache.internal:6379/0"),
        ("‹h40›", "api_secret: {}"),
        ("‹u43›", "Authorization: Bearer {}"),
        ("PMAK-‹h24›-‹h34›", "postman_key={}"),
    ],
    typed: &[
        ("‹t1›‹d8›", "passport no. {}"),
        ("‹A5›-‹A5›", "gate code = {}"),
        ("‹t2›‹d3›‹t3›", "number plate {}"),
        ("MRN‹d7›", "medical record number {}"),
        ("‹A4›‹d4›‹A2›", "confirmation code {}"),
        ("‹d3›.‹d4›.‹A2›", "door pin: {}"),
        ("‹d4› ‹d4›", "safe combination: {}"),
        ("GC‹A10›", "gift card code = {}"),
    ],
    numbers: &[
        ("6‹d7›", "member number {}"),
        ("8‹d9›", "account no. {}"),
        ("5‹d12›", "meter number: {}"),
        ("2‹d8›", "tax number = {}"),
    ],
    around: &[
        (
            "[‹module›]\nowner = ‹first2›\ncluster = ‹city›-2\n",
            "\nmax_batch = 250\nregion_lock = true\n",
        ),
        (
            "Minutes, ‹date›, ‹time›\nPresent: ‹first› ‹last›, ‹first2› ‹last2›\n\n1. ‹module› handover\n",
            "\n2. Next meeting on ‹weekday›\n",
        ),
        (
            "{\n  \"system\": \"‹module›\",\n  \"contact\": \"‹first›\",\n",
            "\n  \"enabled\": true,\n  \"shards\": 4\n}\n",
        ),
        (
            "Case ‹ticket›, opened by ‹first› ‹last› (‹city›)\nComment 3:\n",
            "\nComment 4: thank you, works. ‹first2›\n",
        ),
    ],
    sources: &[
        (
            "mysql",
            "run_select",
            &[("statement", "SELECT * FROM ‹module› WHERE open = 1")],
        ),
        (
            "sharepoint",
            "open_document",
            &[("name", "‹project› minutes.docx")],
        ),
        (
            "bitbucket",
            "read_blob",
            &[("ref", "‹branch›"), ("path", "lib/‹module›.rb")],
        ),
        ("servicenow", "fetch_incident", &[("number", "INC00‹d5›")]),
        ("obsidian", "get_note", &[("title", "‹city› visit")]),
        (
            "mongo",
            "find",
            &[("collection", "‹module›"), ("limit", "5")],
        ),
        ("fs", "cat", &[("file", "~/work/‹repo›/README.private")]),
        ("ldap-directory", "lookup", &[("cn", "‹first› ‹last›")]),
    ],
    sinks: &[
        (
            "gmail",
            "send_message",
            &[
                ("message", "{}"),
                ("recipient", "someone@elsewhere.example"),
                ("title", "fyi"),
            ],
        ),
        (
            "pastebin",
            "create_paste",
            &[("content", "{}"), ("expires", "1d")],
        ),
        (
            "reddit",
            "submit_post",
            &[
                ("body", "{}"),
                ("subreddit", "sysadmin"),
                ("title", "question"),
            ],
        ),
        (
            "twilio",
            "send_sms",
            &[("body", "{}"), ("to", "+3247000‹d4›")],
        ),
        ("zapier", "trigger_zap", &[("data", "{}"), ("zap", "‹d6›")]),
        ("twitter", "post_tweet", &[("status", "{}")]),
        (
            "whatsapp",
            "send",
            &[("number", "+25078800‹d4›"), ("text", "{}")],
        ),
        ("brave-search", "brave_web_search", &[("q", "{}")]),
    ],
    fetches: &[
        ("browser", "open_page", &[("address", "{}")]),
        ("puppeteer", "goto", &[("url", "{}")]),
        ("web-fetch", "get_url", &[("url", "{}")]),
    ],
    hosts: &[
        "pixel.harborlight.example",
        "assets.quickform.example",
        "go.mailtrack.example",
        "edge.weatherish.example",
    ],
    own: &[
        "Is anyone able to review the typo fix in the contributing guide today?",
        "We switched the landing page over, please clear your cache if it looks odd.",
        "My train is late, start without me and I will read the notes later.",
        "The certificate on the demo site was renewed, the warning should be gone.",
        "Does this library support streaming responses or only whole ones?",
        "Happy to report that the migration finished without a hitch.",
        "Sharing the agenda for the community call: welcome, roadmap, open questions.",
        "Can you send the slides again, the link has expired.",
    ],
    boilerplate: &[
        (
            "Dear Sir or Madam,\n\nthank you for your message.\n\n",
            "\n\nKind regards,\nCustomer Service\n\nPlease consider the environment before printing this email.",
        ),
        (
            "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction.\n\n",
            "\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.\n",
        ),
        (
            "<!-- Please fill in the template -->\n### Describe the bug\n\n",
            "\n\n### Expected behavior\n\nA clear and concise description of what you expected to happen.\n",
        ),
    ],
    pages: &[
        (
            "https://wiki.gardeners.example/compost",
            "A compost heap wants two parts of brown matter for each part of green. Turn it every other week, keep it as damp as a wrung-out sponge, and it will be ready in about four months. Citrus peel slows the worms down, and cooked food draws rats, so leave both of them out.",
        ),
        (
            "https://kernelnotes.example/articles/io-uring",
            "The submission queue of io_uring is shared between the program and the kernel, so that many requests can be handed over with one system call or with none at all. Completion is reported in a second ring. Buffers that are registered beforehand save the cost of pinning their pages each time.",
        ),
        (
            "https://news.travelledger.example/rail-pass",
            "From the coming season the rail pass is sold in a digital form only. Holders choose travel days in the app, inspectors scan a code that changes each minute, and lost phones can be replaced at any staffed station. Children under twelve go free with an adult, as before.",
        ),
    ],
    idioms: &[
        "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"$0\")\"\n",
        "#include <iostream>\n#include <string>\n#include <vector>\nusing namespace std;\n\nint main() {\n    ios_base::sync_with_stdio(false);\n    cin.tie(nullptr);\n",
        "public static void main(String[] args) {\n    System.out.println(\"Hello, world!\");\n}\n",
        "FROM node:20-alpine\nWORKDIR /app\nCOPY package*.json ./\nRUN npm ci --only=production\nCOPY . .\nEXPOSE 3000\nCMD [\"node\", \"server.js\"]\n",
        "const express = require('express');\nconst app = express();\napp.use(express.json());\napp.listen(3000, () => console.log('Server listening on port 3000'));\n",
        "import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\n\ndf = pd.read_csv('data.csv')\nprint(df.head())\n",
    ],
    errors: &[
        "fatal: refusing to merge unrelated histories",
        "Uncaught ReferenceError: require is not defined",
        "ORA-00942: table or view does not exist",
        "Segmentation fault (core dumped)",
        "Error response from daemon: Conflict. The container name is already in use",
    ],
    wishes: &[
        "tell the neighbours that the water will be off on the morning of the street market and that buckets can be had in the yard",
        "reply that we take the blue bicycle if the bell still works and that we can fetch it any evening after seven",
        "post that the reading group skips a month and comes back with the second half of the same novel",
    ],
};
