// Keeps a page up to date: when something happens, or now and then, the page is fetched again and
// the parts that are marked `data-live` take the place of the old ones. Without this script every
// page works all the same, one load at a time. The mark above says whether the page follows: where
// nothing more is heard it says so, and each look that succeeds has it listen again. Nothing else is
// done here.
"use strict";

(() => {
  const SOON = 500; // between an event and the look at what came of it, in milliseconds
  const APART = 2000; // between two looks, however much happens
  const ALWAYS = 10000; // between two looks without an event
  const GONE = 5000; // a stream that is back within this was never gone: it is opened anew now and then
  const said = document.querySelector("[data-live-said]");
  const state = document.querySelector("[data-live-state]");
  const pause = document.querySelector("[data-live-pause]");
  const word = document.querySelector("[data-live-text]");
  const follows = document.querySelector("main [data-live]") !== null;
  const login = document.querySelector("[data-live-login]");
  let paused = false;
  let ended = false; // the session is over
  let away = false; // nothing is heard
  let quiet = 0; // the timer after which nothing heard is said
  let events = null;
  let timer = 0;
  let looking = false;
  let looked = 0;

  const sending = document.querySelector("form[data-send]");
  if (sending) sending.requestSubmit();

  const parts = () => [...document.querySelectorAll("[data-live][id]")];

  // A part that somebody works in is left alone until they are done.
  const busy = (part) => {
    const active = document.activeElement;
    const typing = active && part.contains(active) && active.matches("input, select, textarea");
    const chosen = String(document.getSelection() || "") !== "" && part.contains(document.getSelection().anchorNode);
    return typing || chosen;
  };

  const named = (one) => {
    const names = ["id", "class", "href", "action", "aria-label", "name", "value"];
    return names.map((name) => one.getAttribute(name) || "").join(" ");
  };

  // What something in a part is, and what it is about: the row or question that it stands in, and
  // the form that it sends. Buttons of two questions read the same.
  const identity = (one) => {
    const item = one.closest("article, tr, li");
    const about = item && (item.id || named(item.querySelector("[href]") || item));
    return [about, one.form && named(one.form), one.tagName, named(one)].join("\n");
  };

  // Puts the focus back on the same thing. Where that is gone, or another cannot be told from it, the
  // focus is dropped: on another item, the next key would do what nobody meant.
  const refocus = (part, what) => {
    const all = [...part.querySelectorAll("a, button, summary, [tabindex]")];
    const same = all.filter((one) => identity(one) === what);
    if (same.length === 1) same[0].focus({ preventScroll: true });
  };

  const swap = (old, fresh) => {
    if (old.innerHTML === fresh.innerHTML || busy(old)) return false;
    const active = document.activeElement;
    const what = active && old.contains(active) ? identity(active) : null;
    const open = [...old.querySelectorAll("details[open]")].map(identity);
    const scrolled = [...old.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
    old.replaceChildren(...fresh.childNodes);
    old.querySelectorAll("details").forEach((one) => { one.open = open.includes(identity(one)); });
    old.querySelectorAll(".scroll").forEach((one, at) => { one.scrollLeft = scrolled[at] || 0; });
    if (what !== null) refocus(old, what);
    return true;
  };

  const look = async () => {
    if (paused || looking || document.hidden || parts().length === 0) return;
    looking = true;
    looked = Date.now();
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
      // Whoever is not logged in is sent to the login, and only they are sent anywhere.
      ended = answer.type === "opaqueredirect";
      tell();
      if (!answer.ok) return;
      if (events.readyState === EventSource.CLOSED) listen();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      let changed = 0;
      for (const part of parts()) {
        const fresh = page.getElementById(part.id);
        if (fresh && swap(part, fresh)) changed += 1;
      }
      if (changed && said) said.textContent = "Updated " + new Date().toLocaleTimeString();
    } catch {
      // The gateway is away, which the stream tells as well; the next look finds it again.
    } finally {
      looking = false;
    }
  };

  const soon = () => {
    if (timer) return;
    const wait = Math.max(SOON, looked + APART - Date.now());
    timer = setTimeout(() => { timer = 0; look(); }, wait);
  };

  const standing = () => {
    if (ended) return "Logged out";
    if (paused) return "Paused";
    return away ? "Not connected" : "Live";
  };

  const tell = () => {
    const now = standing();
    // A page of which nothing follows but the number of questions says so only where not even that does.
    state.hidden = !follows && now === "Live";
    if (word.textContent === now) return;
    word.textContent = now;
    state.classList.toggle("paused", now === "Paused");
    state.classList.toggle("away", ended || now === "Not connected");
    pause.hidden = ended || !follows;
    login.hidden = !ended;
    login.href = location.pathname + location.search;
    said.textContent = now;
  };

  const kinds = [
    "activity.tool_call.started", "activity.tool_call.completed", "activity.tool_call.rejected",
    "activity.policy_decision", "activity.quarantine_change", "activity.tool_quarantine_change",
    "activity.hook_evaluation.completed", "activity.flow_summary.completed",
    "sensitive_data.detected", "flow.alert", "approval.requested", "approval.resolved",
    "servers.changed", "config.reloaded", "missed",
  ];

  // A browser gives up where a stream is refused, as after the end of the session: looks go on.
  const listen = () => {
    events = new EventSource("/ui/events");
    for (const kind of kinds) events.addEventListener(kind, soon);
    events.addEventListener("open", () => {
      clearTimeout(quiet);
      quiet = 0;
      away = false;
      tell();
    });
    events.addEventListener("error", () => {
      quiet = quiet || setTimeout(() => { away = true; tell(); }, GONE);
      soon();
    });
  };

  if (parts().length === 0 || !state) return;
  tell();
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    tell();
    if (!paused) look();
  });
  setInterval(look, ALWAYS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  listen();
})();
