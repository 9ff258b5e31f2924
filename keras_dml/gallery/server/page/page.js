"use strict";
// The page on a gallery: sends recordings, shows answers. All text goes in as text, never as HTML.

const by = (id) => document.getElementById(id);
let token = "";
let dropped = [];

class Refused extends Error {}

const ask = async (path, options = {}) => {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  if (answer.status === 401) by("access").hidden = false;
  const told = await answer.json().catch(() => ({}));
  throw new Refused(told.error || `The server answered ${answer.status}.`);
};

const element = (tag, text, parent, name = "") => {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = name;
  parent.append(made);
  return made;
};

const shown = (value) => (value === null ? "denied" : String(Number(value.toPrecision(4))));
const percent = (rate) => `${Number((100 * rate).toPrecision(3))} %`;
const warned = (one) =>
  one.provisional
    ? ", provisional: from the model's card"
    : one.extrapolated
      ? ", extrapolated: no promise"
      : "";
const promised = (one) => `${percent(one.far)}${warned(one)}`;
const limited = (found) =>
  found.far === null ? "" : ` The threshold is for FAR ${promised(found)}.`;
const personPath = (person, rest = "") => `people/${encodeURIComponent(person)}${rest}`;

const form = () => {
  if (!dropped.length) throw new Refused("Drop a recording first, or choose a file.");
  const data = new FormData();
  for (const file of dropped) data.append("files", file);
  const own = by("threshold").value.trim();
  const fields = {
    channels: by("channels").value.trim(),
    rate_hz: by("rate").value.trim(),
    resample: by("resample").checked ? "true" : "",
    threshold: own,
    far: own ? "" : by("far").value,
  };
  for (const [name, value] of Object.entries(fields)) if (value) data.append(name, value);
  return data;
};

const named = () => {
  const person = by("person").value.trim();
  if (!person) {
    by("person").focus();
    throw new Refused("Name a person first.");
  }
  return person;
};

const say = (answer, detail, kind = "") => {
  by("answer").textContent = answer;
  by("answer").className = kind;
  by("detail").textContent = detail;
  by("scores").replaceChildren();
  by("notes").replaceChildren();
  by("why").hidden = true;
  by("result").hidden = false;
};

const note = (texts) => texts.forEach((text) => element("li", text, by("notes")));

// A line for each person; accepted is what lies in the green, from the closeness needed up.
const draw = (candidates, needed) => {
  for (const { person, score, closeness } of candidates) {
    const row = element("div", "", by("scores"), "score");
    const label = element("div", "", row, "label");
    element("span", person, label);
    const limit = needed === null ? "" : `, ${needed.toFixed(1)} is needed`;
    const close = closeness === null ? "" : `closeness ${closeness.toFixed(1)} of 100${limit}`;
    element("span", score === null ? "denied" : close, label);
    if (closeness === null) continue;
    const bar = element("div", "", row, "bar");
    bar.setAttribute("aria-hidden", "true");
    if (needed !== null) {
      element("div", "", bar, "within").style.left = `${needed}%`;
      element("div", "", bar, "limit").style.left = `${needed}%`;
    }
    if (score !== null) element("div", "", bar, "mark").style.left = `${closeness}%`;
  }
};

const explain = async (person) => {
  const data = form();
  data.delete("far");
  data.delete("threshold");
  try {
    const path = personPath(person, "/explanation");
    const answer = await ask(path, { method: "POST", body: data });
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
  const found = await (await ask(path, { method: "POST", body: form() })).json();
  const reason = found.denied ? "It is nearest to a recording marked as another person's." : "";
  const told = found.accepted ? `Accepted: it is ${person}` : `Rejected: not ${person}`;
  say(told, `${reason}${limited(found)}`, found.accepted ? "yes" : "no");
  draw([found], found.needed);
  note(found.notes);
  await explain(person);
};

const identify = async () => {
  const found = await (await ask("identify", { method: "POST", body: form() })).json();
  const rates =
    found.fpir === null
      ? ""
      : ` Among so many, up to ${percent(found.fpir)} of strangers are taken for somebody (FPIR).`;
  const tied = `No decision: ${found.tied.join(" and ")} are equally near`;
  const stranger = found.tied.length ? tied : "A stranger";
  const nobody = found.threshold === null ? "No decision: no threshold is set" : stranger;
  say(
    found.person === null ? nobody : `It is ${found.person}`,
    `The nearest of ${found.people} people.${limited(found)}${rates}`,
    found.person === null ? "no" : "yes",
  );
  draw(found.candidates, found.needed);
  note(found.notes);
  if (found.candidates.length) await explain(found.candidates[0].person);
};

const enroll = async () => {
  const person = named();
  const data = form();
  data.delete("far");
  data.delete("threshold");
  const path = personPath(person, "/recordings");
  const found = await (await ask(path, { method: "POST", body: data })).json();
  const [count, repeated] = [found.kept.length, found.repeated.length];
  const files = count + repeated + found.refused.length;
  say(
    count || repeated ? `${person} is enrolled` : `${person} is not enrolled`,
    `${count} of ${files} files kept, ${found.enrolled} recordings in all.`,
    count || repeated ? "yes" : "no",
  );
  note(found.refused.map((one) => one.reason));
  note(found.notes);
  await listPeople();
};

const remove = async (person) => {
  if (!confirm(`Remove ${person}, and all that is stored of them?`)) return;
  await ask(personPath(person), { method: "DELETE" });
  say(`${person} is removed`, "Nothing of them is left in the gallery.");
  await listPeople();
};

const listPeople = async () => {
  const found = await (await ask("people")).json();
  by("people").hidden = !found.length;
  by("nobody").hidden = found.length > 0;
  by("names").replaceChildren();
  const body = by("people").tBodies[0];
  body.replaceChildren();
  for (const { person, recordings } of found) {
    element("option", "", by("names")).value = person;
    const row = element("tr", "", body);
    element("td", person, row);
    element("td", recordings, row);
    const button = element("button", "Remove", element("td", "", row));
    button.setAttribute("aria-label", `Remove ${person}`);
    button.addEventListener("click", () => work(() => remove(person)));
  }
};

const listThresholds = async () => {
  const found = await (await ask("thresholds")).json();
  by("far").replaceChildren();
  for (const one of found) {
    const text = `${promised(one)}: distance ${shown(one.value)}`;
    element("option", text, by("far")).value = one.far;
  }
  const [first] = found;
  by("promise").textContent = first
    ? `The strictest: 95 % interval ${first.far_ci95.map(percent).join(" to ")}, ${first.people} ` +
      `people; it accepts ${percent(first.tar)} of the true claims.`
    : "None is set. Until keras-dml calibrate sets one, that of the model's card decides, if it " +
      "has one; it is provisional. Or give a distance of your own.";
};

const refresh = async () => {
  await listPeople();
  await listThresholds();
  by("access").hidden = true;
};

const work = async (task) => {
  const buttons = [...document.querySelectorAll("button")];
  buttons.forEach((button) => (button.disabled = true));
  document.body.setAttribute("aria-busy", "true");
  try {
    await task();
  } catch (error) {
    say("No answer", error instanceof Refused ? error.message : "The server cannot be reached.");
  } finally {
    document.querySelectorAll("button").forEach((button) => (button.disabled = false));
    document.body.removeAttribute("aria-busy");
  }
};

const choose = (files) => {
  dropped = [...files];
  by("chosen").textContent = dropped.map((file) => file.name).join(", ");
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
by("identify").addEventListener("click", () => work(identify));
by("verify").addEventListener("click", () => work(verify));
by("enroll").addEventListener("click", () => work(enroll));
by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  work(by("person").value.trim() ? verify : identify);
});
by("access").addEventListener("submit", (event) => {
  event.preventDefault();
  token = by("token").value.trim();
  work(refresh);
});
by("far").addEventListener("change", () => (by("threshold").value = ""));
work(refresh);
