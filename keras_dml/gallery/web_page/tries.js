// Limits rejected claims by pauses, in the same way as `keras_dml.gallery.tries`. `about.tries`
// states the limits. It is null if the gallery does not count rejected claims.
import { Refused } from "./elements.js";
import * as store from "./store.js";

export const [CLAIM, IDENTIFICATION] = ["claim", "identification"];
const MOST_DOUBLINGS = 60;

/**
 * Returns the number of seconds until a pause ends.
 *
 * @param count `{failures, failed}`: number of rejected claims, and time of the last one in seconds.
 * @param limits Content of `about.tries`.
 * @param kind Whether claims or identifications were counted.
 * @param now Current time in seconds. If the clock was set back, the result is at most the length of
 *     the pause.
 */
export const left = ({ failures, failed }, limits, kind, now) => {
  if (failures <= limits.free || now - failed >= limits.kept) return 0;
  const doublings = Math.min(failures - limits.free - 1, MOST_DOUBLINGS);
  const longest = kind === CLAIM ? limits.longest : limits.longest_identified;
  const pause = Math.min(longest, limits.pause * 2 ** doublings);
  return Math.min(pause, Math.max(0, failed + pause - now));
};

const seconds = () => Date.now() / 1000;

const refuse = (count, limits, kind, now) => {
  const wait = left(count, limits, kind, now);
  if (!wait) return;
  throw new Refused(
    `Too many claims were rejected. Wait ${Math.ceil(wait)} s before the next claim.`,
  );
};

/** Throws an error if the next claim to be a person must wait. */
export const check = async ({ fingerprint, tries: limits }, person) => {
  if (!limits) return;
  const count = await store.count(fingerprint, person, CLAIM);
  if (count) refuse(count, limits, CLAIM, seconds());
};

/**
 * Counts a claim as rejected until `accept` is called. The claim is counted before the page shows the
 * decision, so that closing the page does not avoid the pause. Throws an error during a pause.
 */
export const begin = async ({ fingerprint, tries: limits }, person, kind) => {
  if (!limits) return;
  const now = seconds();
  await store.recount(fingerprint, person, kind, now - limits.kept, (count) => {
    if (!count) return { failures: 1, failed: now };
    refuse(count, limits, kind, now);
    return { failures: count.failures + 1, failed: now };
  });
};

/** Resets the count of rejected claims for a person. */
export const accept = async ({ fingerprint, tries: limits }, person, kind) => {
  if (limits) await store.forget(fingerprint, person, kind);
};
