// The web page of a gallery. It records with the sensors of a phone, sends recordings to the server
// and shows the responses. All text is inserted as text, never as HTML.
import {
  Refused, by, button, draw, element, listChosen, named, note, percent, plural, receiveFiles,
  runner, say,
} from "./elements.js"; // prettier-ignore
import { csv, wav } from "./formats.js";
import * as recorder from "./recorder.js";
import { SensorError } from "./sensors.js";

let token = "";
let model = { channels: [], sensor: null };
let chosen = [];
let answered = false; // whether the next recording replaces the chosen files
const recorded = new WeakSet(); // files that this page has made

const ask = async (path, options = {}) => {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (options.json) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  if (answer.status === 401) by("access").hidden = false;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(problem.error || `The server answered ${answer.status}.`, answer.status);
};

const shown = (value) => (value === null ? "infinite" : String(Number(value.toPrecision(4))));
const warned = (threshold) =>
  threshold.provisional
    ? ", provisional: from the model's card"
    : threshold.extrapolated
      ? ", extrapolated: only an estimate"
      : "";
const promised = (threshold) => `${percent(threshold.far)}${warned(threshold)}`;
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
  const tied = `No decision: ${result.tied.join(" and ")} are about equally near`;
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

// Lists the recordings of a person by day, in the time zone of this device. If two or more
// recordings are all from one day, shows the same hint as `keras-dml enroll`.
const showDays = async (person, parent) => {
  const stored = await (await ask(personPath(person, "/recordings"))).json();
  const [days, added] = [{}, []];
  for (const { created, id } of stored) {
    const moment = new Date(created);
    (days[day.format(moment)] ??= []).push(time.format(moment));
    if (id !== null) added.push({ id, moment });
  }
  parent.replaceChildren();
  const list = element("ul", "", parent, "plain days");
  for (const [name, times] of Object.entries(days)) {
    const row = element("li", "", list);
    element("span", name, row, "name");
    element("span", plural(times.length, "recording"), row, "count");
    element("span", [...new Set(times)].join(", "), row, "small wide");
  }
  for (const { id, moment } of added) {
    const row = element("li", "", list);
    element("span", `Added by a proposal on ${day.format(moment)}`, row, "name");
    button("Undo", `Remove the recording that was added on ${day.format(moment)}`, row, () =>
      work(() => settle(`proposals/${id}/undo`, "POST", "The recording is removed again")),
    );
  }
  if (stored.length < 2 || Object.keys(days).length > 1) return;
  const more = recorder.wordFor(model.sensor);
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
    button("Remove", `Remove ${person}`, row, () => work(() => remove(person)));
    const days = element("details", "", row, "wide");
    element("summary", plural(recordings, "recording"), days);
    const list = element("div", "", days);
    days.addEventListener("toggle", () => days.open && work(() => showDays(person, list)));
  }
};

// Sends a decision about a kept recording, and shows the result.
const settle = async (path, method, heading, body = null) => {
  const options = body === null ? {} : { body: JSON.stringify(body), json: true };
  const result = await (await ask(path, { method, ...options })).json();
  const refused = result.refused?.length ?? 0;
  const repeats = result.added === 0 && result.repeated > 0;
  const done = repeats ? `Already enrolled as ${result.person}` : heading;
  say(refused ? "Not added" : done, refused ? result.refused[0] : "", refused ? "no" : "yes");
  await listPeople();
  await listKept();
};

// Lists the recordings that are proposed as templates, and the recordings of strangers.
const listKept = async () => {
  const proposals = await (await ask("proposals")).json();
  const strangers = await (await ask("strangers")).json();
  by("kept").hidden = !proposals.length && !strangers.length;
  by("proposals").replaceChildren();
  by("strangers").replaceChildren();
  for (const { id, person, created } of proposals) {
    const row = element("li", "", by("proposals"));
    const title = `${person}, ${day.format(new Date(created))}`;
    element("span", `Add to ${title}?`, row, "name");
    const path = `proposals/${id}`;
    button("Add", `Add the recording to ${title}`, row, () =>
      work(() => settle(`${path}/accept`, "POST", `The recording is added to ${person}`)),
    );
    button("Destroy", `Destroy the recording of ${title}`, row, () =>
      work(() => settle(path, "DELETE", "The recording is destroyed")),
    );
  }
  for (const { id, recordings, days } of strangers) {
    const row = element("li", "", by("strangers"));
    const title = `a stranger who came ${plural(recordings, "time")} on ${plural(days, "day")}`;
    element("span", `Who is ${title}?`, row, "name");
    const path = `strangers/${id}`;
    button("Name", `Enroll ${title} under the name in the field Person`, row, () =>
      work(() => {
        const name = named();
        return settle(path, "POST", `${name} is enrolled`, { name });
      }),
    );
    button("Destroy", `Destroy the recordings of ${title}`, row, () =>
      work(() => settle(path, "DELETE", "The recordings are destroyed")),
    );
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

const offer = async () => {
  model = await (await ask("model")).json();
  recorder.offer(model, model.max_steps);
};

const record = () =>
  recorder.record(model, (number, { rows, samples, rate }) => {
    const name = `recording-${number}.${rows ? "csv" : "wav"}`;
    const file = new File([rows ? csv(rows, model.channels) : wav(samples, rate)], name);
    recorded.add(file);
    choose(answered ? [file] : [...chosen, file]);
  });

const refresh = async () => {
  await offer();
  try {
    await listPeople();
    await listThresholds();
    await listKept();
  } catch (error) {
    if (error.status !== 403) throw error;
    // 403: the token may only verify
    for (const id of ["gallery", "identify", "enroll", "kept"]) by(id).hidden = true;
  }
  by("access").hidden = true;
};

const work = runner((error) => {
  const isSensor = error instanceof SensorError;
  const isExpected = isSensor || error instanceof Refused;
  return [
    isSensor ? "No recording" : "No answer",
    isExpected ? error.message : "The server cannot be reached.",
  ];
});

const decide = (task) =>
  work(async () => {
    await task();
    answered = true;
    if (!by("gallery").hidden) await listKept();
  });

const choose = (files) => {
  chosen = files;
  answered = false;
  listChosen(chosen, choose);
};

receiveFiles(choose);
by("record").addEventListener("click", () => work(record));
by("identify").addEventListener("click", () => decide(identify));
by("enroll").addEventListener("click", () => work(enroll));
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  decide(verify); // by the button, or by the key Enter
});
by("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = by("token").value.trim();
  work(refresh);
});
work(refresh);
