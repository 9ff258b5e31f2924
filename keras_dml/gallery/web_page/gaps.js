// Cuts recordings at long gaps and fills short gaps, in the same way as `keras_dml.recordings`.
// A channel is a Float64Array.
import { Refused } from "./elements.js";
import { median, most } from "./numbers.js";

const JITTER = 0.5; // larger deviations, in steps, mean that a sample is missing
const LONGEST_STEPS = 5; // longest gap that is interpolated, in steps
const MISSES = 1 + JITTER; // a row is missing if an interval is longer than this number of steps
const MISSES_JITTERED = 2.5; // replaces MISSES if the clock is often off by more than JITTERED steps
const JITTERED = 0.3;
const LEAST_STEPS = 8; // shorter pieces between two gaps are left out

const differences = (values) => Array.from(values.subarray(1), (value, i) => value - values[i]);

/** Returns the usual step between rising times, without the longer steps of gaps. */
const usualStep = (seconds) => {
  const steps = differences(seconds);
  const limit = MISSES * median(steps);
  const usual = steps.filter((step) => step <= limit);
  return usual.reduce((sum, step) => sum + step, 0) / usual.length;
};

/** Returns whether a sample is missing or occurs twice. */
export const hasMissingSteps = (seconds) => {
  const mean = seconds.at(-1) / (seconds.length - 1);
  return differences(seconds).some((step) => Math.abs(step - mean) > JITTER * mean);
};

/**
 * Replaces equal times of several rows by evenly spaced times, up to the next time. Some sensors
 * deliver several samples at once and give these samples the same time.
 */
export const evenlySpread = (seconds) => {
  const firsts = [...seconds.keys()].filter((i) => i === 0 || seconds[i] > seconds[i - 1]);
  if (firsts.length === seconds.length) return seconds;
  const counts = firsts.map((first, k) => (firsts[k + 1] ?? seconds.length) - first);
  const spans = firsts.slice(1).map((first, k) => seconds[first] - seconds[firsts[k]]);
  const usual = median(spans.map((span, k) => span / counts[k]));
  const spread = Float64Array.from(seconds);
  firsts.forEach((first, k) => {
    let step = k < spans.length ? spans[k] / counts[k] : usual;
    if (step > MISSES * usual) step = usual; // the rest of the interval is a gap
    for (let i = 0; i < counts[k]; i += 1) spread[first + i] = seconds[first] + i * step;
  });
  // A recording may begin in the middle of a group of rows with the same time.
  const isPartial = counts[0] < most(counts.slice(1)) && spans[0] <= MISSES * median(spans);
  if (isPartial) {
    for (let i = 0; i < counts[0]; i += 1) spread[i] = seconds[counts[0]] - usual * (counts[0] - i);
  }
  return spread.map((time) => time - spread[0]);
};

const insertRows = (channels, seconds, step) => {
  const steps = differences(seconds);
  const whole = steps.map((length) => Math.max(1, Math.round(length / step)));
  const off = steps.filter((length, i) => Math.abs(length / step - whole[i]) > JITTERED).length;
  const misses = off / steps.length > 0.05 ? MISSES_JITTERED : MISSES;
  const counts = steps.map((length, i) => (length > misses * step ? whole[i] - 1 : 0));
  const inserted = counts.reduce((sum, count) => sum + count, 0);
  if (!inserted) return { channels, seconds, inserted };
  if (inserted > seconds.length) {
    throw new Refused(`${inserted} of its steps are missing, more than were recorded`);
  }
  const fill = (values) =>
    Float64Array.from(
      Array.from(values).flatMap((value, i) => {
        const next = values[i + 1];
        const count = counts[i] ?? 0;
        const between = (k) => value + ((k + 1) / (count + 1)) * (next - value);
        return [value, ...Array.from({ length: count }, (_, k) => between(k))];
      }),
    );
  return { channels: channels.map(fill), seconds: fill(seconds), inserted };
};

/**
 * Returns the longest piece of a recording between two long gaps, with interpolated rows where
 * rows are missing.
 *
 * @param seconds Rising times that begin at 0.
 * @returns `{channels, seconds, rate, notes}`, where `rate` is the measured rate of all pieces.
 */
export const longestPiece = (channels, seconds) => {
  if (seconds.length < 2) return { channels, seconds, rate: null, notes: [] };
  const step = usualStep(seconds);
  const limit = LONGEST_STEPS * step * (1 + 1e-9);
  const starts = [0];
  for (let i = 1; i < seconds.length; i += 1) {
    if (seconds[i] - seconds[i - 1] > limit) starts.push(i);
  }
  const parts = starts.map((start, k) => [start, starts[k + 1] ?? seconds.length]);
  const enough = parts.filter(([start, end]) => end - start >= LEAST_STEPS);
  const filled = (enough.length ? enough : parts).map(([start, end]) => {
    const times = seconds.slice(start, end).map((time) => time - seconds[start]);
    return insertRows(
      channels.map((values) => values.slice(start, end)),
      times,
      step,
    );
  });
  const steps = filled.reduce((sum, piece) => sum + piece.seconds.length - 1, 0);
  const length = filled.reduce((sum, piece) => sum + piece.seconds.at(-1), 0);
  const longest = filled.reduce((a, b) => (b.seconds.length > a.seconds.length ? b : a));
  const notes = [];
  if (filled.length > 1) notes.push("The longest part between two gaps was used.");
  if (longest.inserted) notes.push("Missing rows were interpolated.");
  return { ...longest, rate: length ? steps / length : null, notes };
};
