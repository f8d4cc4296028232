"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const moments = data.moments, calls = data.calls;
let here = 0, timer = null;

/** An element; everything in `children` that is no element becomes text, never markup. */
function el(name, options, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(options || {})) {
    if (key === "class") node.className = value;
    else if (key === "color") node.style.borderColor = value;
    else if (key === "fill") node.style.background = value;
    else node[key] = value;
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

const robotName = (robot) => (robot === null || robot === undefined ? "team" : "R" + robot);
const robotColor = (robot) => (typeof robot === "number" ? data.robots[robot] : "#606876");
const robotBadge = (robot) => el("span", { class: "badge", fill: robotColor(robot) }, robotName(robot));
const goalBadge = (goal) => el("span", { class: "badge", fill: data.goals[goal].color }, String(goal));
const pretty = (value) => JSON.stringify(value, null, 2);

function picture(number, alt) {
  const image = el("img", { src: data.images[number], alt: alt });
  image.addEventListener("click", () => {
    $("large").firstElementChild.src = image.src;
    $("large").firstElementChild.alt = alt;
    $("large").showModal();
  });
  return image;
}

/** The last moment at or before a step. */
function momentOf(step) {
  let found = 0;
  moments.forEach((moment, i) => { if (moment.step <= step) found = i; });
  return found;
}

// what can be jumped to: {moment, robot, level, kind, words}
const events = data.declarations.map((d) => ({
  moment: momentOf(d.step), robot: d.robot, level: null, kind: d.right ? "right" : "wrong",
  words: `step ${d.step}: R${d.robot} declares goal ${d.goal}, ${d.words}`,
}));
for (const call of calls) {
  if (call.error === null && !call.unfit.length) continue;
  events.push({
    moment: momentOf(call.step), robot: call.robot, level: call.level, kind: call.error === null ? "unfit" : "failed",
    words: `step ${call.step}: ${robotName(call.robot)}, ${call.level}: ` +
      (call.error === null ? `${call.unfit.length} unfit` : "no answer"),
  });
}
events.sort((a, b) => a.moment - b.moment);

/** Whether something of a robot (null: the team) and a level (null: of none) passes the filter. */
function passes(item) {
  const robot = $("robot").value, level = $("level").value;
  return (robot === "" || robot === robotName(item.robot)) && (level === "" || item.level === null || level === item.level);
}

function clear(node) { node.replaceChildren(); return node; }

function show(index) {
  here = Math.max(0, Math.min(moments.length - 1, index));
  const moment = moments[here];
  $("slider").value = here;
  $("now").textContent = `step ${moment.step} of ${moments[moments.length - 1].step} ` +
    `(moment ${here + 1} of ${moments.length})`;
  $("map").src = data.images[moment.map];
  showViews(moment);
  showBoard(moment);
  showEvents();
  showDecisions(moment);
  showCalls(moment);
  try { history.replaceState(null, "", "#step=" + moment.step); } catch (error) { /* a page in a frame may not */ }
}

function showViews(moment) {
  const box = clear($("views"));
  moment.views.forEach((view, robot) => {
    const follows = moment.follows[robot];
    const caption = el("figcaption", null, robotBadge(robot), " " + view.note);
    if (follows !== null) caption.append(el("div", null, brief(data.decisions[follows])));
    const out = view.note.endsWith("out of budget");
    box.append(el("figure", { class: out ? "empty" : "", color: robotColor(robot) },
      picture(view.image, `what R${robot} sees at step ${moment.step}`), caption));
  });
}

function showBoard(moment) {
  const body = clear($("board").tBodies[0]);
  data.goals.forEach((goal, j) => {
    const row = moment.board[j];
    const what = el("td", null, goal.text);
    if (goal.photo !== null) what.prepend(picture(goal.photo, `the photo of goal ${j}`));
    body.append(el("tr", null, el("td", null, goalBadge(j)), el("td", null, goal.modality), what,
      el("td", { class: row.state }, row.words)));
  });
}

function showEvents() {
  const box = clear($("events"));
  for (const event of events.filter(passes)) {
    const button = el("button", { class: event.kind }, event.words);
    button.addEventListener("click", () => jump(event.moment));
    if (event.moment === here) button.style.borderColor = "#1e222a";
    box.append(button);
  }
  if (!box.children.length) box.append(el("span", { class: "small" }, "none"));
}

/** A decision in a few words. */
function brief(entry) {
  const goal = typeof entry.goal === "number" ? `goal ${entry.goal}` : "";
  return [entry.action, goal, entry.thing].filter((v) => typeof v === "string" && v).join(" · ");
}

function showDecisions(moment) {
  const box = clear($("decisions")), robot = $("robot").value;
  const mine = data.decisions.filter((d) => d.step === moment.step && (robot === "" || robot === robotName(d.robot)));
  for (const entry of mine) {
    const block = el("div", { class: "decision", color: robotColor(entry.robot) }, robotBadge(entry.robot), " ",
      el("b", null, brief(entry)));
    for (const key of Object.keys(entry)) {
      const value = entry[key];
      if (["step", "robot", "action", "goal", "thing"].includes(key) || value === null || value === "") continue;
      block.append(el("div", null, `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`));
    }
    box.append(block);
  }
  for (const entry of data.assignments.filter((a) => a.step === moment.step)) {
    const rest = Object.entries(entry).filter(([key]) => key !== "step");
    const block = el("div", { class: "decision", color: robotColor(null) }, robotBadge(null), " ", el("b", null, "assignment"));
    for (const [key, value] of rest) {
      block.append(el("div", null, `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`));
    }
    box.append(block);
  }
  $("decisions-title").hidden = box.hidden = !(data.decisions.length || data.assignments.length);
  if (!box.children.length) box.append(el("p", { class: "small" }, "None at this step."));
}

function showCalls(moment) {
  const box = clear($("calls"));
  const mine = calls.filter((call) => call.step === moment.step && passes(call));
  mine.forEach((call, i) => box.append(callBox(call, i === mine.length - 1)));
  $("calls-title").textContent = mine.length ? `Calls (${mine.length})` : "Calls";
  if (!mine.length) {
    box.append(el("p", { class: "small" }, calls.length
      ? "None at this step with this filter; [ and ] go to the call before and after."
      : "The record has no transcript of calls."));
  }
}

/** A call, folded or open; what is in it is made when it is opened. */
function callBox(call, open) {
  const answer = call.error === null ? el("span", { class: "brief" }, short(JSON.stringify(call.answer)))
    : el("span", { class: "error" }, short(call.error));
  const box = el("details", { class: "call" }, el("summary", null, robotBadge(call.robot), ` ${call.level} · step ${call.step}` +
    (call.unfit.length ? ` · ${call.unfit.length} unfit` : "") + " · ", answer));
  const fill = () => { if (box.open && box.children.length === 1) box.append(callBody(call)); };
  box.addEventListener("toggle", fill);
  box.open = open;
  fill();
  return box;
}

function callBody(call) {
  const body = el("div");
  for (const message of call.said) {
    const parts = el("div", null);
    let length = 0;
    for (const part of message.parts) {
      parts.append(typeof part === "number" ? el("div", { class: "text" }, data.texts[part]) : shownPicture(part));
      length += typeof part === "number" ? data.texts[part].length : 0;
    }
    if (message.role === "system") {
      body.append(el("details", null, el("summary", { class: "role" }, `system, ${length} characters`), parts));
    } else {
      body.append(el("div", { class: "message" }, el("div", { class: "role" }, message.role), parts));
    }
  }
  for (const unfit of call.unfit) {
    body.append(el("div", { class: "error" }, "unfit answer: " + unfit.reason), el("pre", null, unfit.text));
  }
  if (call.error !== null) body.append(el("div", { class: "error" }, call.error));
  if (call.answer !== null) body.append(el("div", { class: "role" }, "answer"), el("pre", null, pretty(call.answer)));
  return body;
}

function shownPicture(part) {
  const label = part.ref + (part.note ? ": " + part.note : "");
  if (part.image === null) return el("div", { class: "missing small" }, "picture " + label);
  return el("div", { class: "shown" }, picture(part.image, part.ref), el("div", { class: "small" }, label));
}

function short(text) { return text.length > 160 ? text.slice(0, 159) + "…" : text; }

function jump(index) { stop(); show(index); }

/** Go to the nearest moment before (-1) or after (1) this one of those given. */
function step(among, way) {
  const ahead = among.filter((i) => (i - here) * way > 0);
  if (ahead.length) jump(way > 0 ? Math.min(...ahead) : Math.max(...ahead));
}
const callMoments = () => calls.filter(passes).map((call) => momentOf(call.step));
const eventMoments = () => events.filter(passes).map((event) => event.moment);

function stop() {
  clearInterval(timer);
  timer = null;
  $("play").textContent = "play";
}

function play() {
  if (timer !== null) return stop();
  if (here === moments.length - 1) show(0);
  $("play").textContent = "pause";
  timer = setInterval(() => { if (here === moments.length - 1) stop(); else show(here + 1); }, 400);
}

function toggleAll() {
  const boxes = [...document.querySelectorAll("#calls > details")], open = boxes.some((box) => !box.open);
  boxes.forEach((box) => { box.open = open; });
}

const keys = {
  ArrowLeft: (event) => jump(here - (event.shiftKey ? 10 : 1)), ArrowRight: (event) => jump(here + (event.shiftKey ? 10 : 1)),
  Home: () => jump(0), End: () => jump(moments.length - 1), " ": play, o: toggleAll,
  "[": () => step(callMoments(), -1), "]": () => step(callMoments(), 1),
  p: () => step(eventMoments(), -1), n: () => step(eventMoments(), 1), "?": () => $("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("select") || (event.key === " " && event.target.closest("button, summary"))) return;
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key](event);
});

function start() {
  $("title").textContent = data.title;
  for (const [name, value] of data.facts) $("facts").append(el("div", null, el("dt", null, name), el("dd", null, value)));
  const names = ["", ...data.robots.map((_, k) => "R" + k), ...(calls.some((c) => c.robot === null) ? ["team"] : [])];
  for (const name of names) $("robot").append(el("option", { value: name }, name || "all"));
  for (const name of ["", ...new Set(calls.map((call) => call.level))]) {
    $("level").append(el("option", { value: name }, name || "all"));
  }
  $("slider").max = moments.length - 1;
  const share = (i) => `calc(${(100 * i) / Math.max(moments.length - 1, 1)}% - 1px)`;
  const tick = (i, kind) => { const mark = el("i", { class: kind }); mark.style.left = share(i); $("ticks").append(mark); };
  [...new Set(calls.map((call) => momentOf(call.step)))].forEach((i) => tick(i, "call"));
  events.forEach((event) => tick(event.moment, event.kind));
  $("slider").addEventListener("input", () => jump(Number($("slider").value)));
  $("back").addEventListener("click", () => jump(here - 1));
  $("on").addEventListener("click", () => jump(here + 1));
  $("call-back").addEventListener("click", () => step(callMoments(), -1));
  $("call-on").addEventListener("click", () => step(callMoments(), 1));
  $("play").addEventListener("click", play);
  $("keys").addEventListener("click", () => $("help").showModal());
  $("large").addEventListener("click", () => $("large").close());
  for (const id of ["robot", "level"]) $(id).addEventListener("change", () => show(here));
  const table = $("counts").querySelector("table");
  table.append(el("tr", null, el("th", null, "level"), ...data.counts.columns.map((name) => el("th", null, name))));
  for (const row of data.counts.rows) {
    table.append(el("tr", null, ...row.map((value, i) => el("td", { class: i ? "number" : "" }, value === null ? "" : String(value)))));
  }
  $("counts").hidden = !data.counts.rows.length;
  $("rest").querySelector("pre").textContent = pretty(data.rest);
  $("rest").hidden = !Object.keys(data.rest).length;
  const fromAddress = () => {
    const wanted = /^#step=(\d+)$/.exec(location.hash);
    return wanted ? momentOf(Number(wanted[1])) : 0;
  };
  window.addEventListener("hashchange", () => jump(fromAddress()));
  show(fromAddress());
}

start();
