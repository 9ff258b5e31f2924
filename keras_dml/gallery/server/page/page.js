// The web page of a gallery. It records with the sensors of a phone, sends recordings to the server
// and shows the responses. All text is inserted as text, never as HTML.
import { csv, wav } from "./formats.js";
import { SensorError, allowMotion, pause, recordMotion, recordSound } from "./sensors.js";
import { drawMotion, drawSound } from "./trace.js";

const by = (id) => document.getElementById(id);
let token = "";
let model = { channels: [], sensor: null };
let chosen = [];
let answered = false; // whether the next recording replaces the chosen files
let recordings = 0; // number of recordings that this page has made
const recorded = new WeakSet(); // files that this page has made

class Refused extends Error {
  constructor(message, status = null) {
    super(message);
    this.status = status;
  }
}

const ask = async (path, options = {}) => {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  if (answer.status === 401) by("access").hidden = false;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(problem.error || `The server answered ${answer.status}.`, answer.status);
};

const element = (tag, text, parent, name = "") => {
  const node = document.createElement(tag);
  node.textContent = text;
  node.className = name;
  parent.append(node);
  return node;
};

const shown = (value) => (value === null ? "infinite" : String(Number(value.toPrecision(4))));
const rounded = (value) => String(Number(value.toFixed(1)));
const percent = (rate) => `${Number((100 * rate).toPrecision(3))} %`;
const warned = (threshold) =>
  threshold.provisional
    ? ", provisional: from the model's card"
    : threshold.extrapolated
      ? ", extrapolated: only an estimate"
      : "";
const promised = (threshold) => `${percent(threshold.far)}${warned(threshold)}`;
const SECONDS = { usual: 6, most: 60 }; // default and largest length of a recording
const limited = (decision) =>
  decision.far === null
    ? ""
    : ` The threshold is for a false accept rate of ${promised(decision)}.`;
const personPath = (person, rest = "") => `people/${encodeURIComponent(person)}${rest}`;

// Returns a form with the chosen files, the options for reading them, and the threshold's rate.
const form = (decides = false) => {
  if (!chosen.length) throw new Refused("Record first, drop a recording, or choose a file.");
  const data = new FormData();
  for (const file of chosen) data.append("files", file);
  const reading = chosen.every((file) => recorded.has(file))
    ? { resample: "true" } // the rates of sensors differ from those of models, and times are uneven
    : {
        channels: by("channels").value.trim(),
        rate_hz: by("rate").value.trim(),
        resample: by("resample").checked ? "true" : "",
      };
  const fields = { ...reading, far: decides ? by("far").value : "" };
  for (const [name, value] of Object.entries(fields)) if (value) data.append(name, value);
  return data;
};

const named = () => {
  const person = by("person").value.trim();
  if (!person) {
    by("person").focus();
    throw new Refused("Enter the name of a person first.");
  }
  return person;
};

const say = (answer, detail, kind = "") => {
  by("answer").textContent = answer;
  by("answer").className = kind;
  by("detail").textContent = detail;
  for (const id of ["progress-of", "scores", "notes"]) by(id).replaceChildren();
  by("why").hidden = true;
  by("result").hidden = false;
  by("result").scrollIntoView({ block: "nearest" });
};

const note = (texts) => texts.forEach((text) => element("li", text, by("notes")));

// Draws a bar for each person, green if the closeness is accepted. A server without --scores sends
// no closeness.
const draw = (candidates, needed) => {
  for (const { person, closeness } of candidates) {
    if (closeness === null) continue;
    const row = element("div", "", by("scores"), "score");
    const label = element("div", "", row, "label");
    element("span", person, label);
    const limit = needed === null ? "" : `, ${rounded(needed)} is needed`;
    element("span", `closeness ${rounded(closeness)} of 100${limit}`, label);
    const bar = element("div", "", row, "bar");
    bar.setAttribute("aria-hidden", "true");
    if (needed !== null) {
      element("div", "", bar, "within").style.left = `${needed}%`;
      element("div", "", bar, "limit").style.left = `${needed}%`;
    }
    element("div", "", bar, "mark").style.left = `${closeness}%`;
  }
};

const explain = async (person) => {
  try {
    const path = personPath(person, "/explanation");
    const answer = await ask(path, { method: "POST", body: form() });
    URL.revokeObjectURL(by("picture").src);
    by("picture").src = URL.createObjectURL(await answer.blob());
    by("whose").textContent = person;
    by("why").hidden = false;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    note([`No picture: ${error.message}`]);
  }
};

const verify = async () => {
  const person = named();
  const path = personPath(person, "/verify");
  const decision = await (await ask(path, { method: "POST", body: form(true) })).json();
  const reason = decision.denied
    ? "The nearest stored recording is from an imposter of this person."
    : "";
  const heading = decision.accepted ? `Accepted: it is ${person}` : `Rejected: not ${person}`;
  say(heading, `${reason}${limited(decision)}`, decision.accepted ? "yes" : "no");
  draw([decision], decision.needed);
  note(decision.notes);
  if (decision.denied !== null) await explain(person); // null: the server has no --scores
};

const identify = async () => {
  const result = await (await ask("identify", { method: "POST", body: form(true) })).json();
  const rates =
    result.fpir === null
      ? ""
      : ` Among so many people, up to ${percent(result.fpir)} of strangers are accepted (FPIR).`;
  const tied = `No decision: ${result.tied.join(" and ")} are equally near`;
  const stranger = result.tied.length ? tied : "A stranger";
  const nobody = result.threshold === null ? "No decision: no threshold is set" : stranger;
  say(
    result.person === null ? nobody : `It is ${result.person}`,
    `The nearest of ${result.people} people.${limited(result)}${rates}`,
    result.person === null ? "no" : "yes",
  );
  draw(result.candidates, result.needed);
  note(result.notes);
  if (result.candidates.length) await explain(result.candidates[0].person);
};

const enroll = async () => {
  const person = named();
  const path = personPath(person, "/recordings");
  const enrollment = await (await ask(path, { method: "POST", body: form() })).json();
  const [count, repeated] = [enrollment.kept.length, enrollment.repeated.length];
  const files = count + repeated + enrollment.refused.length;
  say(
    count || repeated ? `${person} is enrolled` : `${person} is not enrolled`,
    `${count} of ${files} files were enrolled. This person has ${enrollment.enrolled} recordings.`,
    count || repeated ? "yes" : "no",
  );
  note(enrollment.refused.map((file) => file.reason));
  note(enrollment.notes);
  await listPeople();
  if (!enrollment.enrolled) return;
  await showDays(person, by("progress-of"));
  choose([]);
};

const remove = async (person) => {
  if (!confirm(`Remove ${person} and everything that is stored about this person?`)) return;
  await ask(personPath(person), { method: "DELETE" });
  say(`${person} is removed`, "The gallery has no data about this person any more.");
  await listPeople();
};

const day = new Intl.DateTimeFormat("en", {
  weekday: "short",
  year: "numeric",
  month: "short",
  day: "numeric",
});
const time = new Intl.DateTimeFormat("en", { timeStyle: "short" });
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// Lists the recordings of a person by day, in the time zone of this device. If two or more
// recordings are all from one day, shows the same hint as `keras-dml enroll`.
const showDays = async (person, parent) => {
  const stored = await (await ask(personPath(person, "/recordings"))).json();
  const days = {};
  for (const { created } of stored) {
    const moment = new Date(created);
    (days[day.format(moment)] ??= []).push(time.format(moment));
  }
  parent.replaceChildren();
  const list = element("ul", "", parent, "plain days");
  for (const [name, times] of Object.entries(days)) {
    const row = element("li", "", list);
    element("span", name, row, "name");
    element("span", plural(times.length, "recording"), row, "count");
    element("span", [...new Set(times)].join(", "), row, "small wide");
  }
  if (stored.length < 2 || Object.keys(days).length > 1) return;
  const more = KINDS[model.sensor]?.word ?? "recording";
  const hint = element("p", "", parent, "notice");
  element("strong", `One more ${more} on another day.`, hint);
  hint.append(
    ` All recordings of ${person} are from one day. Recordings of a person differ more between ` +
      "days.",
  );
};

const listPeople = async () => {
  const entries = await (await ask("people")).json();
  by("people").hidden = !entries.length;
  by("nobody").hidden = entries.length > 0;
  by("names").replaceChildren();
  by("people").replaceChildren();
  for (const { person, recordings } of entries) {
    element("option", "", by("names")).value = person;
    const row = element("li", "", by("people"));
    element("strong", person, row, "name");
    const button = element("button", "Remove", row);
    button.type = "button";
    button.setAttribute("aria-label", `Remove ${person}`);
    button.addEventListener("click", () => work(() => remove(person)));
    const days = element("details", "", row, "wide");
    element("summary", plural(recordings, "recording"), days);
    const list = element("div", "", days);
    days.addEventListener("toggle", () => days.open && work(() => showDays(person, list)));
  }
};

const listThresholds = async () => {
  const thresholds = await (await ask("thresholds")).json();
  by("far").replaceChildren();
  for (const threshold of thresholds) {
    const text = `${promised(threshold)}: distance ${shown(threshold.value)}`;
    element("option", text, by("far")).value = threshold.far;
  }
  const [first] = thresholds;
  by("promise").textContent = first
    ? "The strictest threshold: the 95 % confidence interval of the false accept rate is " +
      `${first.far_ci95.map(percent).join(" to ")}, measured on ${first.people} people. The ` +
      `threshold accepts ${percent(first.tar)} of the genuine claims.`
    : "No threshold is set. Until keras-dml calibrate sets one, the provisional threshold of the " +
      "model's card decides, if there is one.";
};

const KINDS = {
  microphone: {
    button: "Record speech",
    word: "recording",
    advice: "Speak in your usual voice until the time is over.",
    sensor: "the microphone",
    delay: 0,
    draw: drawSound,
    async record(seconds, show, signal) {
      const { samples, rate } = await recordSound(model.rate_hz, seconds, show, signal);
      return [wav(samples, rate), "wav"];
    },
  },
  accelerometer: {
    button: "Record a walk",
    word: "walk",
    advice:
      "Use the same phone and carry it in the same place each time, such as the right trouser " +
      "pocket. Walk until the time is over. The screen must stay on.",
    sensor: "the motion sensors",
    delay: 5, // to put the phone into a pocket
    draw: drawMotion,
    async record(seconds, show, signal) {
      const axes = model.channels.map((channel) => channel.toLowerCase().at(-1));
      const withGravity = model.sensor === "accelerometer";
      const rows = await recordMotion(axes, withGravity, seconds, show, signal);
      return [csv(rows, model.channels), "csv"];
    },
  },
};
KINDS["linear-acceleration"] = KINDS.accelerometer;

const offer = async () => {
  model = await (await ask("model")).json();
  const kind = KINDS[model.sensor];
  by("recorder").hidden = !kind || !isSecureContext;
  by("insecure").hidden = !kind || isSecureContext;
  if (!kind) return;
  by("insecure").textContent =
    `This page was opened over plain HTTP, so it cannot use ${kind.sensor}. Open ` +
    "the page over HTTPS, or at 127.0.0.1 on the server's own machine. You can still choose files.";
  by("record").textContent = kind.button;
  by("advice").textContent = kind.advice;
  const least = model.min_steps / model.rate_hz;
  const most = model.max_steps ? Math.floor(model.max_steps / model.rate_hz) : SECONDS.most;
  by("seconds").value = Math.max(1, Math.min(most, Math.max(SECONDS.usual, Math.ceil(2 * least))));
  by("delay").value = kind.delay;
};

const numberIn = (id, name) => {
  if (!by(id).checkValidity() || by(id).value === "") {
    by(id).focus();
    throw new Refused(`${name} must be a number from ${by(id).min} to ${by(id).max}.`);
  }
  return Number(by(id).value);
};

let cancel = null; // function that ends the current recording

const record = async () => {
  const kind = KINDS[model.sensor];
  const [seconds, delay] = [numberIn("seconds", "Seconds"), numberIn("delay", "Countdown")];
  const controller = new AbortController();
  const { signal } = controller;
  cancel = () => controller.abort();
  if (kind.draw === drawMotion) await allowMotion();
  const lock = await navigator.wakeLock?.request("screen").catch(() => null);
  by("running").hidden = false;
  by("progress").max = seconds;
  by("progress").value = 0;
  by("state").textContent = "";
  by("left").textContent = "";
  try {
    const draw = kind.draw(by("trace"), seconds);
    for (let left = delay; left > 0; left -= 1) {
      by("left").textContent = `Starts in ${left} s`;
      await pause(1000, signal);
    }
    by("state").textContent = `Recording ${seconds} s.`;
    by("left").textContent = `${seconds} s left`;
    const show = (now, values) => {
      draw(now, values);
      by("progress").value = now;
      by("left").textContent = `${Math.max(0, Math.ceil(seconds - now))} s left`;
    };
    const [content, suffix] = await kind.record(seconds, show, signal);
    recordings += 1;
    const file = new File([content], `recording-${recordings}.${suffix}`);
    recorded.add(file);
    choose(answered ? [file] : [...chosen, file]);
    by("state").textContent = `${file.name} is ready: ${seconds} s.`;
    navigator.vibrate?.(300);
  } catch (error) {
    by("state").textContent = "";
    if (!signal.aborted) throw error;
    by("state").textContent = "The recording was canceled.";
  } finally {
    cancel = null;
    by("running").hidden = true;
    await lock?.release();
  }
};

const refresh = async () => {
  await offer();
  try {
    await listPeople();
    await listThresholds();
  } catch (error) {
    if (error.status !== 403) throw error;
    // 403: the token may only verify
    for (const id of ["gallery", "identify", "enroll"]) by(id).hidden = true;
  }
  by("access").hidden = true;
};

const work = async (task) => {
  const focused = document.activeElement;
  const buttons = [...document.querySelectorAll("button:not(#cancel)")];
  buttons.forEach((button) => (button.disabled = true));
  document.body.setAttribute("aria-busy", "true");
  try {
    await task();
  } catch (error) {
    const isSensor = error instanceof SensorError;
    const isExpected = isSensor || error instanceof Refused;
    say(
      isSensor ? "No recording" : "No answer",
      isExpected ? error.message : "The server cannot be reached.",
    );
  } finally {
    document.querySelectorAll("button").forEach((button) => (button.disabled = false));
    document.body.removeAttribute("aria-busy");
    if (document.activeElement === document.body) focused?.focus({ preventScroll: true });
  }
};

const decide = (task) =>
  work(async () => {
    await task();
    answered = true;
  });

const choose = (files) => {
  chosen = [...files];
  answered = false;
  by("chosen").replaceChildren();
  for (const file of chosen) {
    const row = element("li", "", by("chosen"));
    element("span", file.name, row, "name");
    const button = element("button", "Leave out", row);
    button.type = "button";
    button.setAttribute("aria-label", `Leave out ${file.name}`);
    button.addEventListener("click", () => {
      choose(chosen.filter((entry) => entry !== file));
      by("files").focus();
    });
  }
};

const drop = by("drop");
for (const name of ["dragenter", "dragover"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
}
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  choose(event.dataTransfer.files);
});
by("files").addEventListener("change", (event) => choose(event.target.files));
by("record").addEventListener("click", () => work(record));
by("cancel").addEventListener("click", () => cancel?.());
document.addEventListener("keydown", (event) => event.key === "Escape" && cancel?.());
by("identify").addEventListener("click", () => decide(identify));
by("verify").addEventListener("click", () => decide(verify));
by("enroll").addEventListener("click", () => work(enroll));
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  decide(by("person").value.trim() ? verify : identify);
});
by("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = by("token").value.trim();
  work(refresh);
});
work(refresh);
