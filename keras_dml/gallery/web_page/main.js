// The page: records and reads recordings, enrolls people, decides and shows the answers. All text is
// inserted as text, never as HTML. Templates and scores are never written to the console.
import * as decide from "./decide.js";
import { getJson, loadModel } from "./model.js";
import * as quality from "./quality.js";
import { ReadError, convert, readFile } from "./read.js";
import { SensorError, allowMotion, pause, recordMotion, recordSound } from "./sensors.js";
import * as store from "./store.js";
import * as templateFiles from "./templates.js";
import { drawMotion, drawSound } from "./trace.js";

const SECONDS = { usual: 6, most: 60 }; // default and largest length of a recording
const TOP = 5; // largest number of people in an answer
const MOST_FILE_BYTES = 50e6;
const LONGEST_WAIT_MS = 2000; // for the service worker

const by = (id) => document.getElementById(id);
let model = null;
let chosen = []; // `{name, recording, notes, problem}`
let answered = false; // whether the next recording replaces the chosen recordings
let made = 0; // number of recordings that this page has made

/** Error that the user can correct. */
class Refused extends Error {}

const element = (tag, text, parent, name = "") => {
  const node = document.createElement(tag);
  node.textContent = text;
  node.className = name;
  parent.append(node);
  return node;
};

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const rounded = (value) => String(Number(value.toFixed(1)));
const percent = (rate) => `${Number((100 * rate).toPrecision(3))}\u00a0%`;
const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

const say = (answer, detail, kind = "") => {
  by("answer").textContent = answer;
  by("answer").className = kind;
  by("detail").textContent = detail;
  for (const id of ["scores", "notes"]) by(id).replaceChildren();
  by("result").hidden = false;
  by("result").scrollIntoView({ block: "nearest" });
};

const note = (texts) => {
  for (const text of new Set(texts)) element("li", text, by("notes"));
};

const origin = (threshold) =>
  threshold.provisional
    ? "from the model's card, measured on other people"
    : threshold.extrapolated
      ? "extrapolated: only an estimate"
      : "calibrated for this gallery";

const chosenThreshold = () => {
  const threshold = model.about.thresholds[by("far").selectedIndex];
  if (!threshold) throw new Refused("This model has no threshold, so this page cannot decide.");
  return threshold;
};

const limited = (threshold) =>
  ` The threshold is for a false accept rate of ${percent(threshold.far)} (${origin(threshold)}).`;

// Draws a bar for each person, green where the closeness is accepted.
const draw = (candidates, closeness, limit) => {
  if (!closeness) return;
  const needed = closeness(limit);
  for (const { person, score } of candidates.slice(0, TOP)) {
    const close = closeness(score);
    const row = element("div", "", by("scores"), "score");
    const label = element("div", "", row, "label");
    element("span", person, label);
    element("span", `closeness ${rounded(close)} of 100, ${rounded(needed)} is needed`, label);
    const bar = element("div", "", row, "bar");
    bar.setAttribute("aria-hidden", "true");
    element("div", "", bar, "within").style.left = `${needed}%`;
    element("div", "", bar, "limit").style.left = `${needed}%`;
    element("div", "", bar, "mark").style.left = `${close}%`;
  }
};

const named = () => {
  const person = by("person").value.trim().normalize("NFC");
  if (!person || /\p{C}/u.test(person)) {
    by("person").focus();
    throw new Refused("Enter the name of a person first.");
  }
  return person;
};

const templates = () => store.list(model.about.fingerprint);

const usable = () => {
  if (!chosen.length) throw new Refused("Record first, drop a recording, or choose a file.");
  const bad = chosen.find(({ problem }) => problem);
  if (bad) throw new Refused(`${bad.problem} Leave it out, or choose another file.`);
  return chosen;
};

const embedAll = async (recordings) => {
  const embeddings = [];
  for (const { recording } of recordings) embeddings.push(await model.embed(recording));
  return embeddings;
};

const probesAndPeople = async () => {
  const recordings = usable();
  const stored = await templates();
  if (!stored.some(({ enrolled }) => enrolled)) {
    throw new Refused("Nobody is enrolled in this browser yet. Enroll a person first.");
  }
  return [await embedAll(recordings), stored, recordings.flatMap(({ notes }) => notes)];
};

const verify = async () => {
  const [person, threshold] = [named(), chosenThreshold()];
  const [probes, stored, notes] = await probesAndPeople();
  if (!stored.some((template) => template.enrolled && template.person === person)) {
    throw new Refused(`${person} is not enrolled in this browser.`);
  }
  const decision = await decide.verify(model, probes, stored, person, threshold.value);
  const { accepted, denied } = decision;
  const reason = denied ? "The nearest stored recording is from an imposter of this person." : "";
  const heading = accepted ? `Accepted: it is ${person}` : `Rejected: not ${person}`;
  say(heading, `${reason}${limited(threshold)}`, accepted ? "yes" : "no");
  draw([decision], await decide.closeness(model, stored), threshold.value);
  note(notes);
};

const identify = async () => {
  const threshold = chosenThreshold();
  const [probes, stored, notes] = await probesAndPeople();
  const result = await decide.identify(model, probes, stored, threshold.value);
  const { person, tied, candidates } = result;
  const nobody = tied.length
    ? `No decision: ${tied.join(" and ")} are equally near`
    : "A stranger";
  say(
    person === null ? nobody : `It is ${person}`,
    `The nearest of ${plural(candidates.length, "person").replace("persons", "people")}.` +
      limited(threshold),
    person === null ? "no" : "yes",
  );
  draw(candidates, await decide.closeness(model, stored), threshold.value);
  if (candidates.length > 1) {
    notes.push(
      `With ${candidates.length} people, a stranger is accepted up to ${candidates.length} times ` +
        "as often as this rate says.",
    );
  }
  note(notes);
};

const enroll = async () => {
  const person = named();
  if (!chosen.length) usable();
  if (!by("consent").checked) {
    by("consent").focus();
    throw new Refused("Ask the person for consent, and tick the box, before you enroll.");
  }
  const fit = chosen.filter(({ problem }) => !problem);
  const reasons = chosen.flatMap(({ problem }) => (problem ? [problem] : []));
  const embeddings = await embedAll(fit);
  const stored = await templates();
  const against = await decide.reasonsAgainst(model, person, embeddings, stored);
  against.forEach((reason, i) => reason && reasons.push(`${fit[i].name}: ${reason}.`));
  const created = new Date().toISOString();
  const fresh = embeddings.filter((_, i) => against[i] === null);
  await store.add(
    fresh.map((embedding) => ({
      model: model.about.fingerprint,
      person,
      enrolled: true,
      created,
      embedding,
    })),
  );
  const own = stored.filter((template) => template.enrolled && template.person === person);
  const total = own.length + fresh.length;
  say(
    fresh.length ? `${person} is enrolled` : `${person} is not enrolled`,
    `${fresh.length} of ${plural(chosen.length, "recording")} enrolled. This browser has ` +
      `${plural(total, "template")} of this person.`,
    fresh.length ? "yes" : "no",
  );
  note([...reasons, ...fit.flatMap(({ notes }) => notes)]);
  by("consent").checked = false;
  if (fresh.length) choose([]);
  await listPeople();
};

const remove = async (person) => {
  if (!confirm(`Remove ${person} and all templates of this person from this browser?`)) return;
  await store.remove(model.about.fingerprint, person);
  say(`${person} is removed`, "This browser has no template of this person any more.");
  await listPeople();
};

const clear = async () => {
  if (!confirm("Delete all people of all models from this browser?")) return;
  await store.clear();
  choose([]);
  by("person").value = "";
  say("Everything is deleted", "This browser has no templates any more.");
  await listPeople();
};

const save = async () => {
  const stored = await templates();
  if (!stored.length) throw new Refused("Nobody is enrolled in this browser, so nothing was saved.");
  const bytes = templateFiles.write(stored, model.about);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  link.download = "templates.npz";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  say("templates.npz is saved", "The file is not encrypted. Keep it safe.");
};

const load = async (file) => {
  if (file.size > MOST_FILE_BYTES) throw new Refused("The file of templates is too large.");
  const read = templateFiles.read(await file.arrayBuffer(), model.about);
  const stored = await templates();
  const { fingerprint, embedding: shape } = model.about;
  const fresh = [];
  for (const template of read) {
    const copies = [...stored, ...fresh].filter(({ embedding }) =>
      decide.isSame(embedding, template.embedding, shape),
    );
    const other = copies.find(
      ({ person, enrolled }) => enrolled && template.enrolled && person !== template.person,
    );
    if (other) {
      throw new Refused(
        `A recording is enrolled as ${other.person} and as ${template.person}. Remove one of them.`,
      );
    }
    if (!copies.some(({ person }) => person === template.person)) {
      fresh.push({ ...template, model: fingerprint, created: new Date().toISOString() });
    }
  }
  await store.add(fresh);
  say(`${plural(fresh.length, "template")} loaded`, `The file holds ${read.length}.`, "yes");
  await listPeople();
};

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

const listPeople = async () => {
  const people = new Map();
  for (const { person, enrolled, created } of await templates()) {
    if (!enrolled) continue;
    if (!people.has(person)) people.set(person, []);
    people.get(person).push(day.format(new Date(created)));
  }
  by("people").hidden = !people.size;
  by("save").hidden = !people.size;
  by("enroll").className = people.size ? "" : "main"; // the first step
  by("identify").className = people.size ? "main" : "";
  by("nobody").hidden = people.size > 0;
  by("names").replaceChildren();
  by("people").replaceChildren();
  for (const [person, days] of [...people].sort(([a], [b]) => a.localeCompare(b))) {
    element("option", "", by("names")).value = person;
    const row = element("li", "", by("people"));
    const label = element("span", "", row, "name");
    element("strong", person, label);
    element("br", "", label);
    const text = `${plural(days.length, "template")}, ${[...new Set(days)].join(" and ")}`;
    element("span", text, label, "small");
    const button = element("button", "Remove", row);
    button.type = "button";
    button.setAttribute("aria-label", `Remove ${person}`);
    button.addEventListener("click", () => work(() => remove(person)));
  }
};

const toSignal = (rows) => {
  const first = rows[0][0];
  const seconds = Float64Array.from(rows, ([time]) => (time - first) / 1000);
  const channels = rows[0].slice(1).map((_, i) => Float64Array.from(rows, (row) => row[i + 1]));
  return { channels, units: channels.map(() => "m/s2"), seconds, rate: null };
};

const WALK = {
  button: "Record a walk",
  advice:
    "Use the same phone and carry it in the same place each time, such as the right trouser " +
    "pocket. Walk until the time is over. The screen must stay on.",
  sensor: "the motion sensors",
  delay: 5, // to put the phone into a pocket
  draw: drawMotion,
  async record(seconds, show, signal) {
    const axes = model.about.channels.map((channel) => channel.toLowerCase().at(-1));
    const withGravity = model.about.sensor === "accelerometer";
    return toSignal(await recordMotion(axes, withGravity, seconds, show, signal));
  },
};
const KINDS = {
  accelerometer: WALK,
  "linear-acceleration": WALK,
  microphone: {
    button: "Record speech",
    advice: "Speak in your usual voice until the time is over.",
    sensor: "the microphone",
    delay: 0,
    draw: drawSound,
    async record(seconds, show, signal) {
      const { samples, rate } = await recordSound(model.about.rate_hz, seconds, show, signal);
      return { channels: [Float64Array.from(samples)], units: [null], seconds: null, rate };
    },
  },
};

const offer = () => {
  const { about } = model;
  const kind = KINDS[about.sensor];
  by("recorder").hidden = !kind || !isSecureContext;
  by("insecure").hidden = !kind || isSecureContext;
  by("reading").hidden = about.is_sound;
  by("formats").textContent = about.is_sound ? "WAV files" : "CSV files";
  by("files").accept = about.is_sound ? ".wav" : ".csv,.tsv,.txt";
  const least = about.rate_hz
    ? `at least ${rounded(about.min_steps / about.rate_hz)} s at ${about.rate_hz} Hz`
    : `at least ${about.min_steps} steps`;
  const channels = about.is_sound
    ? "sound"
    : about.channels.map((name, i) => (about.units ? `${name} (${about.units[i]})` : name));
  const several = "A decision is about all chosen recordings together.";
  by("task").textContent = about.task ? `${about.task}.` : "";
  by("takes").textContent = `Takes ${[channels].flat().join(", ")}, ${least}. ${several}`;
  if (!kind) return;
  by("insecure").textContent =
    `This page was opened over plain HTTP, so it cannot use ${kind.sensor}. Open it over HTTPS. ` +
    "You can still choose files.";
  by("record").textContent = kind.button;
  by("advice").textContent = kind.advice;
  const shortest = about.min_steps / about.rate_hz;
  const longest = Math.min(SECONDS.most, Math.floor((about.steps - 1) / about.rate_hz));
  by("seconds").max = longest;
  by("seconds").value = Math.min(longest, Math.max(SECONDS.usual, Math.ceil(2 * shortest)));
  by("delay").value = kind.delay;
};

const describeThreshold = () => {
  const threshold = model.about.thresholds[by("far").selectedIndex];
  by("promise").textContent = threshold
    ? `${capitalized(origin(threshold))}: accepts ${percent(threshold.tar)} of genuine claims, measured on ` +
      `${threshold.people} people with ${threshold.enrolled ?? "all"} recordings each.`
    : "This model has no threshold.";
};

const listThresholds = () => {
  by("far").replaceChildren();
  for (const threshold of model.about.thresholds) {
    element("option", percent(threshold.far), by("far")).value = threshold.far;
  }
  describeThreshold();
};

const checked = (name, { recording, notes }) => {
  const reason = quality.fault(recording, model.about);
  const warning = reason ? null : quality.warning(recording, model.about);
  return {
    name,
    recording,
    notes: warning ? [...notes, `${name}: ${warning}`] : notes,
    problem: reason && `${name}: ${reason}.`,
  };
};

const readChosen = async (files) => {
  by("result").hidden = true; // an answer about earlier recordings
  const columns = by("channels").value.split(",").map((text) => text.trim());
  const rate = Number(by("rate").value.replace(",", "."));
  const options = { channels: columns[0] ? columns : null, rate: rate > 0 ? rate : null };
  const entries = [];
  for (const file of files) {
    if (file.size > MOST_FILE_BYTES) {
      entries.push({ name: file.name, notes: [], problem: `${file.name}: it is too large.` });
      continue;
    }
    try {
      entries.push(checked(file.name, await readFile(file, model.about, options)));
    } catch (error) {
      if (!(error instanceof ReadError)) throw error;
      entries.push({ name: file.name, notes: [], problem: error.message });
    }
  }
  choose(answered ? entries : [...chosen, ...entries]);
};

const choose = (entries) => {
  chosen = entries;
  answered = false;
  by("chosen").replaceChildren();
  const { rate_hz: rate } = model.about;
  for (const entry of chosen) {
    const row = element("li", "", by("chosen"));
    element("span", entry.name, row, "name");
    if (entry.recording) {
      const steps = entry.recording[0].length;
      element("span", rate ? `${rounded(steps / rate)} s` : `${steps} steps`, row, "count");
    }
    const button = element("button", "Leave out", row);
    button.type = "button";
    button.setAttribute("aria-label", `Leave out ${entry.name}`);
    button.addEventListener("click", () => {
      choose(chosen.filter((other) => other !== entry));
      by("files").focus();
    });
    if (!entry.problem) continue;
    const reason = entry.problem.slice(entry.name.length + 2);
    element("span", capitalized(reason), row, "wide problem");
  }
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
  const kind = KINDS[model.about.sensor];
  const [seconds, delay] = [numberIn("seconds", "Seconds"), numberIn("delay", "Countdown")];
  const controller = new AbortController();
  const { signal } = controller;
  cancel = () => controller.abort();
  if (kind === WALK) await allowMotion();
  const lock = await navigator.wakeLock?.request("screen").catch(() => null);
  by("running").hidden = false;
  by("progress").max = seconds;
  by("progress").value = 0;
  by("state").textContent = "";
  by("left").textContent = "";
  try {
    const trace = kind.draw(by("trace"), seconds);
    for (let left = delay; left > 0; left -= 1) {
      by("left").textContent = `Starts in ${left} s`;
      await pause(1000, signal);
    }
    by("state").textContent = `Recording ${seconds} s.`;
    by("left").textContent = `${seconds} s left`;
    const show = (now, values) => {
      trace(now, values);
      by("progress").value = now;
      by("left").textContent = `${Math.max(0, Math.ceil(seconds - now))} s left`;
    };
    const content = convert(await kind.record(seconds, show, signal), model.about);
    made += 1;
    const entry = checked(`recording ${made}`, { ...content, notes: [] });
    choose(answered ? [entry] : [...chosen, entry]);
    by("state").textContent = entry.problem ?? `Recording ${made} is ready: ${seconds} s.`;
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

const setDisabled = (isDisabled) => {
  for (const button of document.querySelectorAll("button:not(#cancel)")) {
    button.disabled = isDisabled;
  }
};

const work = async (task) => {
  const focused = document.activeElement;
  setDisabled(true);
  document.body.setAttribute("aria-busy", "true");
  try {
    await task();
  } catch (error) {
    const isExpected = [Refused, ReadError, RangeError, SensorError].some(
      (kind) => error instanceof kind,
    );
    const unexpected = "This page could not do this. Load it again, and try once more.";
    const heading = error instanceof SensorError ? "No recording" : "No answer";
    say(heading, isExpected ? error.message : unexpected, "no");
  } finally {
    setDisabled(false);
    document.body.removeAttribute("aria-busy");
    if (document.activeElement === document.body) focused?.focus({ preventScroll: true });
  }
};

const answer = (task) =>
  work(async () => {
    await task();
    answered = true;
  });

/** Waits until the service worker keeps all files, so that no later request leaves the page. */
const keepOffline = async () => {
  if (!navigator.serviceWorker) return false;
  await navigator.serviceWorker.register("sw.js");
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) {
    await new Promise((resolve) => {
      navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true });
      setTimeout(resolve, LONGEST_WAIT_MS); // a forced reload leaves the page without a worker
    });
  }
  return navigator.serviceWorker.controller !== null;
};

const show = async (folder) => {
  model = await loadModel(`models/${folder}`);
  choose([]);
  offer();
  listThresholds();
  await listPeople();
};

const start = async () => {
  setDisabled(true);
  try {
    const { models } = await getJson("site.json");
    for (const { folder, title } of models) element("option", title, by("model")).value = folder;
    by("choice").hidden = models.length < 2;
    const asked = location.hash.slice(1);
    if (models.some(({ folder }) => folder === asked)) by("model").value = asked;
    await show(by("model").value);
  } catch (error) {
    by("ready").textContent = `This page cannot decide: ${error.message}`;
    by("ready").className = "no";
    document.body.removeAttribute("aria-busy");
    return;
  }
  const isOffline = await keepOffline().catch(() => false);
  by("ready").textContent = isOffline ? "Ready, also offline" : "Ready";
  by("ready").className = "yes";
  setDisabled(false);
  document.body.removeAttribute("aria-busy");
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
  work(() => readChosen([...event.dataTransfer.files]));
});
by("files").addEventListener("change", ({ target }) => {
  const files = [...target.files];
  target.value = ""; // so that the same file can be chosen again
  work(() => readChosen(files));
});
by("model").addEventListener("change", ({ target }) =>
  work(async () => {
    history.replaceState(null, "", `#${target.value}`);
    by("result").hidden = true;
    await show(target.value);
  }),
);
by("far").addEventListener("change", describeThreshold);
by("record").addEventListener("click", () => work(record));
by("cancel").addEventListener("click", () => cancel?.());
document.addEventListener("keydown", (event) => event.key === "Escape" && cancel?.());
by("identify").addEventListener("click", () => answer(identify));
by("verify").addEventListener("click", () => answer(verify));
by("enroll").addEventListener("click", () => work(enroll));
by("clear").addEventListener("click", () => work(clear));
by("save").addEventListener("click", () => work(save));
by("load").addEventListener("click", () => by("file-of-templates").click());
by("file-of-templates").addEventListener("change", ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (file) work(() => load(file));
});
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(by("person").value.trim() ? verify : identify);
});
start();
