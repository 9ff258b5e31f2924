// Decides in the same way as `keras_dml.Gallery`. A template is
// `{person, enrolled, embedding}`. `enrolled` is false for a recording of an imposter that
// `Gallery.reject` stored.
import { Refused } from "./elements.js";

const TIE = 1e-5; // scores that differ by less than this fraction count as equal
const SAME = 1e-3; // relative difference of embeddings of one recording, as in keras_dml._contents

/** Returns whether two embeddings of the same shape belong to the same recording. */
export const isSame = (a, b, shape) => {
  const width = shape.at(-1); // the tolerance is relative to the largest number of each row
  for (let start = 0; start < a.length; start += width) {
    let largest = 0;
    for (let i = start; i < start + width; i += 1) {
      largest = Math.max(largest, Math.abs(a[i]), Math.abs(b[i]));
    }
    for (let i = start; i < start + width; i += 1) {
      if (Math.abs(a[i] - b[i]) > SAME * largest) return false;
    }
  }
  return true;
};

const leastOf = (distances, rows) =>
  rows.reduce((least, row) => Math.min(least, distances[row]), Infinity);

/**
 * Computes the score of each person: the distance from each probe to the nearest enrolled
 * recording, averaged over the probes. The score is infinite if a probe is nearer to a stored
 * recording of an imposter than to the person's recordings.
 *
 * @returns Array of `{person, score, denied}` in ascending order of the scores.
 */
export const scores = async (model, probes, templates) => {
  const embeddings = templates.map(({ embedding }) => embedding);
  const distances = [];
  for (const probe of probes) distances.push(await model.distances(probe, embeddings));
  const people = new Map();
  templates.forEach(({ person, enrolled }, row) => {
    if (!people.has(person)) people.set(person, { enrolled: [], marked: [] });
    people.get(person)[enrolled ? "enrolled" : "marked"].push(row);
  });
  const result = [];
  for (const [person, { enrolled, marked }] of people) {
    if (!enrolled.length) continue;
    const nearest = distances.map((values) => leastOf(values, enrolled));
    const denied = distances.some((values, i) => leastOf(values, marked) < nearest[i]);
    const mean = nearest.reduce((sum, value) => sum + value, 0) / nearest.length;
    result.push({ person, denied, score: denied ? Infinity : mean });
  }
  return result.sort((a, b) => a.score - b.score);
};

/** Decides whether probes belong to a person. */
export const verify = async (model, probes, templates, person, limit) => {
  const own = templates.filter((template) => template.person === person);
  const [result] = await scores(model, probes, own);
  return { ...result, accepted: result.score <= limit };
};

/**
 * Decides who made probes. Two people whose scores differ by at most `margin` are equally near.
 *
 * @returns `{person, tied, candidates}`. `person` is null for a stranger, and if several people
 *     are equally near. `tied` then lists these people.
 */
export const identify = async (model, probes, templates, limit, margin = 0) => {
  const candidates = await scores(model, probes, templates);
  const least = candidates[0].score;
  if (!(least <= limit)) return { person: null, tied: [], candidates };
  const most = least + Math.max(margin, TIE * Math.abs(least));
  const near = candidates.filter(({ score }) => score <= most);
  const tied = near.length > 1 ? near.map(({ person }) => person) : [];
  return { person: tied.length ? null : near[0].person, tied, candidates };
};

/**
 * Finds new recordings that are too far from a person's other recordings. Recordings are linked if
 * their distance is at most `limit`. Connected recordings form a group. Groups with an enrolled
 * recording belong to the person. For a new person, the largest group of at least two does.
 *
 * @param fresh Embeddings of new recordings.
 * @param enrolled Embeddings of the person's enrolled recordings.
 * @returns Set of the indices of outliers.
 */
export const outliers = async (model, fresh, enrolled, limit) => {
  if (fresh.length + enrolled.length < 2) return new Set();
  const all = [...enrolled, ...fresh];
  // All enrolled recordings are one group from the start.
  const groups = all.map((_, i) => (i < enrolled.length ? 0 : i));
  const links = [];
  for (let i = 0; i < fresh.length; i += 1) {
    const row = enrolled.length + i;
    const distances = await model.distances(fresh[i], all);
    distances.forEach((distance, other) => {
      if (other !== row && distance <= limit) links.push([row, other]);
    });
  }
  for (const [a, b] of links) {
    const [kept, merged] = [Math.min(groups[a], groups[b]), Math.max(groups[a], groups[b])];
    groups.forEach((group, i) => (groups[i] = group === merged ? kept : group));
  }
  const counts = new Map();
  for (const group of groups) counts.set(group, (counts.get(group) ?? 0) + 1);
  const largest = Math.max(...counts.values());
  const first = groups.find((group) => counts.get(group) === largest);
  const own = enrolled.length ? 0 : largest > 1 ? first : null;
  const rows = fresh.map((_, i) => i);
  return new Set(rows.filter((i) => groups[enrolled.length + i] !== own));
};

/**
 * Selects the recordings that may be enrolled.
 *
 * @returns Array with one entry for each new embedding: null if it may be enrolled, and otherwise
 *     the reason.
 */
export const reasonsAgainst = async (model, person, fresh, templates) => {
  const { embedding: shape, outlier_limit: limit } = model.about;
  const reasons = fresh.map((embedding, i) => {
    if (fresh.slice(0, i).some((earlier) => isSame(earlier, embedding, shape))) {
      return "it was given twice";
    }
    const copies = templates.filter((template) => isSame(template.embedding, embedding, shape));
    const owners = copies.filter(({ enrolled }) => enrolled).map((copy) => copy.person);
    if (owners.includes(person)) return "it is enrolled already";
    if (owners.length) return `the same recording is enrolled as ${owners[0]}`;
    const isMarked = copies.some((copy) => copy.person === person);
    return isMarked ? `the same recording is stored as an imposter of ${person}` : null;
  });
  if (limit === null) return reasons;
  const rows = reasons.flatMap((reason, i) => (reason === null ? [i] : []));
  const own = templates.filter((template) => template.person === person && template.enrolled);
  const candidates = rows.map((i) => fresh[i]);
  const far = await outliers(
    model,
    candidates,
    own.map(({ embedding }) => embedding),
    limit,
  );
  for (const k of far) {
    reasons[rows[k]] = `it is too far from every other recording of ${person}`;
  }
  return reasons;
};

/**
 * Selects the templates of a file that may be added to the stored templates. Leaves out templates that
 * are stored already and templates that are too far from the person's other templates.
 *
 * @returns `{newTemplates, far}`: the templates that may be added, and the number of templates that are
 *     too far.
 */
export const mergeable = async (model, read, stored) => {
  const { embedding: shape, outlier_limit: limit } = model.about;
  const fresh = read.filter(({ person, enrolled, embedding }, row) => {
    const copies = [...stored, ...read.slice(0, row)].filter((template) =>
      isSame(template.embedding, embedding, shape),
    );
    const other = copies.find((copy) => copy.person !== person && copy.enrolled && enrolled);
    if (other) {
      throw new Refused(
        `A recording is enrolled as ${other.person} and as ${person}. Remove one of them.`,
      );
    }
    const own = copies.filter((copy) => copy.person === person);
    if (own.some((copy) => copy.enrolled !== enrolled)) {
      throw new Refused(
        `A recording is enrolled as ${person}, and stored as an imposter of ${person}. Remove one of ` +
          "them.",
      );
    }
    return !own.length;
  });
  const far = new Set();
  const people = new Set(fresh.filter(({ enrolled }) => enrolled).map(({ person }) => person));
  for (const person of limit === null ? [] : people) {
    const isOwn = (template) => template.enrolled && template.person === person;
    const [rows, own] = [fresh.filter(isOwn), stored.filter(isOwn)];
    const embeddings = [rows, own].map((templates) => templates.map(({ embedding }) => embedding));
    for (const i of await outliers(model, ...embeddings, limit)) far.add(rows[i]);
  }
  const near = fresh.filter((template) => !far.has(template));
  const all = [...stored, ...near];
  const newTemplates = near.filter(({ person }) =>
    all.some((template) => template.enrolled && template.person === person),
  );
  return { newTemplates, far: far.size };
};

/**
 * Returns a function that converts distances to scores from 0 to 100, or null if the model's card
 * does not state the mean distance between people.
 */
export const closeness = async (model, templates) => {
  const others = model.about.distance_to_others;
  if (others === null) return null;
  const first = new Map();
  for (const { person, enrolled, embedding } of templates) {
    if (enrolled && !first.has(person)) first.set(person, embedding);
  }
  const embeddings = [...first.values()].slice(0, 50);
  let sum = 0;
  for (const embedding of embeddings) sum += (await model.distances(embedding, [embedding]))[0];
  const itself = sum / embeddings.length;
  if (!(others > itself)) return null;
  return (distance) => 100 * Math.min(1, Math.max(0, (others - distance) / (others - itself)));
};
