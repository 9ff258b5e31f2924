// Parts of the page of `keras-dml serve` that the page of `keras-dml export --to web` also uses:
// makes elements, shows answers and runs tasks. All text is inserted as text, never as HTML.

/** Error that the user can correct. `status` is the status of the server's response, or null. */
export class Refused extends Error {
  constructor(message, status = null) {
    super(message);
    this.status = status;
  }
}

export const by = (id) => document.getElementById(id);

export const element = (tag, text, parent, name = "") => {
  const node = document.createElement(tag);
  node.textContent = text;
  node.className = name;
  parent.append(node);
  return node;
};

export const button = (text, label, parent, press) => {
  const node = element("button", text, parent);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.addEventListener("click", press);
  return node;
};

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
export const rounded = (value) => String(Number(value.toFixed(1)));
export const percent = (rate) => `${Number((100 * rate).toPrecision(3))}\u00a0%`;

/** Shows an answer, and removes the details of the previous answer. */
export const say = (answer, detail, kind = "") => {
  by("answer").textContent = answer;
  by("answer").className = kind;
  by("detail").textContent = detail;
  for (const part of by("result").querySelectorAll("div, ul")) part.replaceChildren();
  for (const figure of by("result").querySelectorAll("figure")) figure.hidden = true;
  by("result").hidden = false;
  by("result").scrollIntoView({ block: "nearest" });
};

/** Adds notes to the answer. A note that occurs twice is shown once. */
export const note = (texts) => {
  for (const text of new Set(texts)) element("li", text, by("notes"));
};

/**
 * Draws a bar for each person, green where the closeness is accepted.
 *
 * @param candidates Array of `{person, closeness}`. People whose closeness is null get no bar.
 * @param needed Smallest closeness that is accepted, or null.
 */
export const draw = (candidates, needed) => {
  for (const { person, closeness } of candidates) {
    if (closeness === null) continue;
    const row = element("div", "", by("scores"), "score");
    const label = element("div", "", row, "label");
    element("bdi", person, label);
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

/** Returns the name in the field for the person. */
export const named = () => {
  const person = by("person").value.trim();
  if (!person) {
    by("person").focus();
    throw new Refused("Enter the name of a person first.");
  }
  return person;
};

export const numberIn = (id, name) => {
  if (!by(id).checkValidity() || by(id).value === "") {
    by(id).focus();
    throw new Refused(`${name} must be a number from ${by(id).min} to ${by(id).max}.`);
  }
  return Number(by(id).value);
};

/** Disables or enables all controls that begin a task. */
export const setBusy = (isBusy) => {
  for (const control of document.querySelectorAll("button:not(#cancel), select, [type=file]")) {
    control.disabled = isBusy;
  }
  if (isBusy) document.body.setAttribute("aria-busy", "true");
  else document.body.removeAttribute("aria-busy");
};

/**
 * Returns a function that runs tasks and shows their errors.
 *
 * @param describe Function that takes an error, and returns the heading and the text to show.
 */
export const runner = (describe) => async (task) => {
  const focused = document.activeElement;
  setBusy(true);
  try {
    await task();
  } catch (error) {
    say(...describe(error), "no");
  } finally {
    setBusy(false);
    if (document.activeElement === document.body) {
      // The task may have removed the focused button.
      const next = focused?.isConnected ? focused : by("answer");
      next.focus({ preventScroll: true });
    }
  }
};

/** Calls a function with an array of the files that the user drops or chooses. */
export const receiveFiles = (receive) => {
  const [drop, input] = [by("drop"), by("files")];
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
    if (!input.disabled) receive([...event.dataTransfer.files]);
  });
  input.addEventListener("change", () => {
    const files = [...input.files];
    input.value = ""; // so that the same file can be chosen again
    receive(files);
  });
};

/**
 * Lists the chosen recordings, each with a button that leaves it out.
 *
 * @param entries Objects with a `name`.
 * @param change Function that takes the entries that remain.
 * @param describe Function that takes an entry and its row, and adds details to the row.
 */
export const listChosen = (entries, change, describe = () => {}) => {
  by("chosen").replaceChildren();
  for (const entry of entries) {
    const row = element("li", "", by("chosen"));
    element("span", entry.name, row, "name");
    describe(entry, row);
    button("Leave out", `Leave out ${entry.name}`, row, () => {
      change(entries.filter((other) => other !== entry));
      by("files").focus();
    });
  }
};
