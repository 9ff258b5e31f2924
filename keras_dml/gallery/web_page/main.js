// The page: records and reads recordings, enrolls people, decides and shows the answers. All text is
// inserted as text, never as HTML. Templates and scores are never written to the console.
import * as decide from "./decide.js";
import {
  Refused, by, button, draw, element, listChosen, named, note, percent, plural, receiveFiles,
  rounded, runner, say, setBusy,
} from "./elements.js"; // prettier-ignore
import { getJson, loadModel } from "./model.js";
import { isName } from "./names.js";
import * as quality from "./quality.js";
import { convert, readFile } from "./read.js";
import * as recorder from "./recorder.js";
import { SensorError, unitOfMotion } from "./sensors.js";
import * as store from "./store.js";
import * as templateFiles from "./templates.js";
import * as tries from "./tries.js";

const TOP = 5; // largest number of people in an answer
const MOST_FILE_BYTES = 50e6;
const LONGEST_WAIT_MS = 2000; // for the service worker

let model = null;
let chosen = []; // `{name, recording, notes, problem}`
let answered = false; // whether the next recording replaces the chosen recordings

const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

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

// Returns whether an accepted score resets the count of rejected claims. If the user could reset the
// count with a looser threshold, this threshold would avoid the pauses.
const isStrict = (score) => score <= model.about.thresholds[0].value;

const limited = (threshold) =>
  ` The threshold is for a false accept rate of ${percent(threshold.far)} (${origin(threshold)}).`;

// Draws a bar for each candidate if the model's card states how far people are apart.
const drawScores = (candidates, closeness, limit) => {
  if (!closeness) return;
  const bars = candidates.slice(0, TOP).map(({ person, score }) => ({
    person,
    closeness: closeness(score),
  }));
  draw(bars, closeness(limit));
};

const validName = () => {
  const person = named();
  if (isName(person)) return person.normalize("NFC");
  by("person").focus();
  throw new Refused("The name must have 1 to 200 printable characters. Enter another name.");
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
  const [person, threshold, { about }] = [validName(), chosenThreshold(), model];
  await tries.check(about, person);
  const [probes, stored, notes] = await probesAndPeople();
  if (!stored.some((template) => template.enrolled && template.person === person)) {
    throw new Refused(`${person} is not enrolled in this browser.`);
  }
  await tries.begin(about, person, tries.CLAIM);
  const decision = await decide.verify(model, probes, stored, person, threshold.value);
  const { accepted, denied, score } = decision;
  if (accepted && isStrict(score)) await tries.accept(about, person, tries.CLAIM);
  const reason = denied ? "The nearest stored recording is from an imposter of this person." : "";
  const heading = accepted ? `Accepted: it is ${person}` : `Rejected: not ${person}`;
  say(heading, `${reason}${limited(threshold)}`, accepted ? "yes" : "no");
  drawScores([decision], await decide.closeness(model, stored), threshold.value);
  note(notes);
};

const identify = async () => {
  const [threshold, { about }] = [chosenThreshold(), model];
  const [probes, stored, notes] = await probesAndPeople();
  const { value, margin } = threshold;
  const result = await decide.identify(model, probes, stored, value, margin);
  const { person, tied, candidates } = result;
  const [nearest] = candidates;
  await tries.begin(about, nearest.person, tries.IDENTIFICATION);
  if (person !== null && isStrict(nearest.score)) {
    await tries.accept(about, person, tries.IDENTIFICATION);
  }
  const nobody = tied.length
    ? `No decision: ${tied.join(" and ")} are about equally near`
    : "A stranger";
  say(
    person === null ? nobody : `It is ${person}`,
    `The nearest of ${plural(candidates.length, "person").replace("persons", "people")}.` +
      limited(threshold),
    person === null ? "no" : "yes",
  );
  drawScores(candidates, await decide.closeness(model, stored), threshold.value);
  if (candidates.length > 1) {
    notes.push(
      `With ${candidates.length} people, a stranger is accepted up to ${candidates.length} times ` +
        "as often as this rate says.",
    );
  }
  note(notes);
};

const enroll = async () => {
  const person = validName();
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
  const { newTemplates, far } = await decide.mergeable(model, read, await templates());
  const created = new Date().toISOString();
  const { fingerprint } = model.about;
  await store.add(newTemplates.map((template) => ({ ...template, model: fingerprint, created })));
  say(`${plural(newTemplates.length, "template")} loaded`, `The file holds ${read.length}.`, "yes");
  if (far) note([`${plural(far, "template")} left out: too far from the person's other templates.`]);
  await listPeople();
};

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

const listPeople = async () => {
  const [stored, people] = [await templates(), new Map()];
  const others = (await store.size()) - stored.length;
  by("others").hidden = !others;
  by("others").textContent =
    `This browser also keeps ${plural(others, "template")} of other models. This model cannot compare ` +
    "them. “Delete everything” deletes them too.";
  for (const { person, enrolled, created } of stored) {
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
    element("strong", "", label).append(element("bdi", person, label));
    element("br", "", label);
    const text = `${plural(days.length, "template")}, ${[...new Set(days)].join(" and ")}`;
    element("span", text, label, "small");
    button("Remove", `Remove ${person}`, row, () => work(() => remove(person)));
  }
};

const toSignal = (rows) => {
  const first = rows[0][0];
  const seconds = Float64Array.from(rows, ([time]) => (time - first) / 1000);
  const channels = rows[0].slice(1).map((_, i) => Float64Array.from(rows, (row) => row[i + 1]));
  return { channels, units: channels.map((_, i) => unitOfMotion(i)), seconds, rate: null };
};

const offer = () => {
  const { about } = model;
  by("reading").hidden = about.is_sound;
  by("formats").textContent = about.is_sound ? "WAV files" : "CSV files";
  by("files").accept = about.is_sound ? ".wav" : ".csv,.tsv,.txt";
  const least = about.rate_hz
    ? `at least ${rounded(about.min_steps / about.rate_hz)} s at ${about.rate_hz} Hz`
    : `at least ${about.min_steps} ${about.events ? "events" : "steps"}`;
  const channels = about.is_sound
    ? "sound"
    : about.channels.map((name, i) => (about.units ? `${name} (${about.units[i]})` : name));
  const several = "A decision is about all chosen recordings together.";
  by("task").textContent = about.task ? `${about.task}.` : "";
  by("takes").textContent = `Takes ${[channels].flat().join(", ")}, ${least}. ${several}`;
  recorder.offer(about, about.steps);
};

const duration = (seconds) => {
  const unit = [[3600, "hour"], [60, "minute"], [1, "second"]].find(([size]) => seconds >= size);
  return unit ? plural(Number((seconds / unit[0]).toPrecision(3)), unit[1]) : `${seconds} seconds`;
};

const describeTries = () => {
  const { tries: limits } = model.about;
  by("tries").textContent = limits
    ? `After ${plural(limits.free + 1, "rejected claim")} to be the same person, this page decides ` +
      `the next claim only after ${duration(limits.pause)}. Each further rejected claim doubles this ` +
      `pause, up to ${duration(limits.longest)}. If “Who is it?” finds a stranger, this counts for ` +
      `the nearest person, with pauses of at most ${duration(limits.longest_identified)}. The counts ` +
      "stay in this browser. This slows down people who try again and again with this page. It does " +
      "not stop people who control this browser, because they can delete the counts, or use the " +
      "model without this page."
    : "This page does not count rejected claims, so people can try again and again.";
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

const rateIn = () => {
  const text = by("rate").value.trim();
  if (!text) return null;
  const rate = Number(text.replace(",", "."));
  if (rate > 0 && Number.isFinite(rate)) return rate;
  by("rate").focus();
  throw new Refused(`The time steps per second are ${text}, but must be a positive number.`);
};

const readChosen = async (files) => {
  by("result").hidden = true; // an answer about earlier recordings
  const columns = by("channels").value.split(",").map((text) => text.trim());
  const options = { channels: columns[0] ? columns : null, rate: rateIn() };
  const entries = [];
  for (const file of files) {
    if (file.size > MOST_FILE_BYTES) {
      entries.push({ name: file.name, notes: [], problem: `${file.name}: it is too large.` });
      continue;
    }
    try {
      entries.push(checked(file.name, await readFile(file, model.about, options)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      entries.push({ name: file.name, notes: [], problem: error.message });
    }
  }
  choose(answered ? entries : [...chosen, ...entries]);
};

const describeChosen = (entry, row) => {
  const { rate_hz: rate, events } = model.about;
  if (entry.recording) {
    const steps = entry.recording[0].length;
    const count = `${steps} ${events ? "events" : "steps"}`;
    element("span", rate ? `${rounded(steps / rate)} s` : count, row, "count");
  }
  if (!entry.problem) return;
  element("span", capitalized(entry.problem.slice(entry.name.length + 2)), row, "wide problem");
};

const choose = (entries) => {
  chosen = entries;
  answered = false;
  listChosen(chosen, choose, describeChosen);
};

const record = () =>
  recorder.record(model.about, (number, { rows, samples, rate }) => {
    const signal = rows
      ? toSignal(rows)
      : { channels: [Float64Array.from(samples)], units: [null], seconds: null, rate };
    const content = convert(signal, model.about);
    const entry = checked(`recording ${number}`, { ...content, notes: [] });
    choose(answered ? [entry] : [...chosen, entry]);
    return entry.problem;
  });

const work = runner((error) => {
  const isSensor = error instanceof SensorError;
  const isExpected = isSensor || error instanceof Refused;
  return [
    isSensor ? "No recording" : "No answer",
    isExpected
      ? error.message
      : "This page could not do this. Load it again, and try once more.",
  ];
});

const answer = (task) =>
  work(async () => {
    await task();
    answered = true;
  });

/** Resolves when a worker has installed all files, or has failed to do so. */
const installed = (worker) =>
  new Promise((resolve) => {
    const check = () => worker.state !== "installing" && resolve();
    worker.addEventListener("statechange", check);
    check();
  });

const announceNewer = ({ active, waiting }) => {
  by("newer").hidden = !active || !waiting;
};

/** Waits until the service worker keeps all files, so that no later request leaves the page. */
const keepOffline = async () => {
  const workers = navigator.serviceWorker;
  if (!workers) return false;
  const registration = await workers.register("sw.js", { updateViaCache: "none" });
  announceNewer(registration);
  registration.addEventListener("updatefound", async () => {
    await installed(registration.installing);
    announceNewer(registration);
  });
  if (!registration.active) await installed(registration.installing ?? registration.waiting);
  if (registration.active === null && registration.waiting === null) return false;
  if (!workers.controller) {
    await new Promise((resolve) => {
      workers.addEventListener("controllerchange", resolve, { once: true });
      setTimeout(resolve, LONGEST_WAIT_MS); // a forced reload leaves the page without a worker
    });
  }
  return workers.controller !== null;
};

const show = async (folder) => {
  const shown = model?.about.folder;
  try {
    model = await loadModel(folder);
  } catch (error) {
    by("model").value = shown ?? folder; // the earlier model stays in use
    throw error;
  }
  choose([]);
  offer();
  listThresholds();
  describeTries();
  await listPeople();
};

const start = async () => {
  setBusy(true);
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
  setBusy(false);
};

receiveFiles((files) => work(() => readChosen(files)));
by("model").addEventListener("change", ({ target }) =>
  work(async () => {
    history.replaceState(null, "", `#${target.value}`);
    by("result").hidden = true;
    await show(target.value);
  }),
);
by("far").addEventListener("change", describeThreshold);
by("record").addEventListener("click", () => work(record));
by("identify").addEventListener("click", () => answer(identify));
by("enroll").addEventListener("click", () => work(() => store.alone(enroll)));
by("clear").addEventListener("click", () => work(clear));
by("save").addEventListener("click", () => work(save));
by("load").addEventListener("click", () => by("file-of-templates").click());
by("file-of-templates").addEventListener("change", ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (file) work(() => store.alone(() => load(file)));
});
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(verify); // by the button, or by the key Enter
});
store.onChange(() => model && listPeople().catch(() => {})); // the next task shows the error
start();
