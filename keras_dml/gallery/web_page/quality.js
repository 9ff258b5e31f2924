// Checks recordings in the same way as `keras_dml.contract.Contract` and `keras_dml.quality.Usual`.
// A recording has one Float32Array for each channel. The numbers are explained in these two files.
import { least, median, most } from "./numbers.js";

const MAGNITUDE_FACTOR = 1.5;
const PADDING = { fraction: 0.05, least: 2 };
const [CLIPPED, STILL, STUCK, FLAT, MAGNITUDE] = [0.1, 0.1, 0.25, 0.01, 5];
const MAGNITUDE_OF_EVENTS = 100;
const [BLOCK, LOUD_BLOCKS, LOUD_DB] = [320, 10, 15];

const shown = (value) => String(Number(value.toPrecision(4)));
const sum = (values) => values.reduce((total, value) => total + value, 0);

const stddev = (values) => {
  const mean = sum(values) / values.length;
  return Math.sqrt(values.reduce((total, x) => total + (x - mean) ** 2, 0) / values.length);
};

/** Describes why a model does not take a recording. Returns null if the model takes it. */
const contractReason = (recording, about) => {
  const steps = recording[0].length;
  const seconds = (count) => {
    if (about.events) return `${count} events`;
    return about.rate_hz ? `${shown(count / about.rate_hz)} s` : `${count} steps`;
  };
  for (const [i, values] of recording.entries()) {
    if (!values.every(Number.isFinite)) {
      return `it has gaps: channel ${about.channels[i]} holds a missing number`;
    }
  }
  if (steps < about.min_steps) {
    return `it lasts ${seconds(steps)}, but the model needs ${seconds(about.min_steps)} or more`;
  }
  if (steps > about.steps) {
    return `it lasts ${seconds(steps)}, but this page takes at most ${seconds(about.steps)}`;
  }
  let end = steps;
  while (end > 0 && recording.every((values) => values[end - 1] === 0)) end -= 1;
  if (!end) return "it is zero throughout";
  const zeros = steps - end;
  const mayEndInZeros = about.ignores_zeros || about.events;
  if (!mayEndInZeros && zeros >= Math.max(PADDING.least, PADDING.fraction * steps)) {
    return `it ends in ${zeros} steps of zeros, which are padding`;
  }
  return null;
};

const isFlag = (usual, i) => usual.flags.includes(usual.channels[i]);

/** Returns lists of channels with the same unit, and at last the list of all channels. No list
 * contains flags. */
const unitGroups = (usual) => {
  const channels = usual.channels.flatMap((_, i) => (isFlag(usual, i) ? [] : [i]));
  const units = usual.units ?? usual.channels.map(() => "");
  const groups = [...new Set(units)].map((unit) => channels.filter((i) => units[i] === unit));
  const shared = groups.filter(({ length }) => length > 1 && length < channels.length);
  return channels.length ? [...shared, channels] : [];
};

const flagReason = (recording, usual) => {
  for (const [i, values] of recording.entries()) {
    const step = isFlag(usual, i) ? values.findIndex((value) => value !== 0 && value !== 1) : -1;
    if (step >= 0) {
      return (
        `channel ${usual.channels[i]} is ${shown(values[step])} in step ${step}, but in other ` +
        "recordings it is always 0 or 1"
      );
    }
  }
  return null;
};

const flatReason = (recording, usual, isFlat) => {
  const flat = isFlat.flatMap((value, i) => (value ? [i] : []));
  if (!flat.length) return null;
  const more = flat.length > 3 ? " ..." : "";
  const first = flat.slice(0, 3);
  const names = first.map((i) => usual.channels[i]).join(", ") + more;
  const values = first.map((i) => shown(recording[i][0])).join(", ") + more;
  return flat.length === 1
    ? `channel ${names} is flat: its value is always ${values}`
    : `channels ${names} are flat: their values are always ${values}`;
};

const constantReason = (recording, usual) =>
  flatReason(
    recording,
    usual,
    recording.map((values, i) => least(values) === most(values) && !isFlag(usual, i)),
  );

const faintReason = (recording, usual) => {
  if (usual.stddev === null || usual.is_sound) return null;
  const faint = recording.map(
    (values, i) => stddev(values) <= FLAT * usual.stddev[i] && !isFlag(usual, i),
  );
  for (const group of unitGroups(usual)) {
    // If all channels are faint, the unit is wrong.
    if (group.every((i) => faint[i])) group.forEach((i) => (faint[i] = false));
  }
  return flatReason(recording, usual, faint);
};

/** Returns the fraction of steps that belong to runs of at least two values equal to `limit`. */
const fractionAt = (values, limit) => {
  let count = 0;
  values.forEach((value, i) => {
    if (value === limit && (values[i - 1] === limit || values[i + 1] === limit)) count += 1;
  });
  return count / values.length;
};

const clippedReason = (recording, usual) => {
  for (const [i, values] of recording.entries()) {
    for (const limit of isFlag(usual, i) ? [] : [least(values), most(values)]) {
      const fraction = fractionAt(values, limit);
      if (fraction > CLIPPED) {
        return (
          `channel ${usual.channels[i]} is clipped: its value is at the limit ${shown(limit)} for ` +
          `${(100 * fraction).toFixed(0)} % of the time`
        );
      }
    }
  }
  return null;
};

/** Returns the crest factor of the loud parts of audio in dB, or NaN for silence. */
const crestFactor = (sound) => {
  const blocks = [];
  for (let start = 0; start + BLOCK <= sound.length; start += BLOCK) {
    const block = Float64Array.from(sound.subarray(start, start + BLOCK));
    const mean = sum(block) / BLOCK;
    const centered = block.map((value) => value - mean);
    const power = centered.reduce((total, value) => total + value ** 2, 0) / BLOCK;
    blocks.push({ power, peak: centered.reduce((top, x) => Math.max(top, Math.abs(x)), 0) });
  }
  if (!blocks.length) return NaN;
  const powers = blocks.map(({ power }) => power).sort((a, b) => b - a);
  const limit = powers[Math.min(LOUD_BLOCKS, powers.length) - 1] * 10 ** (-LOUD_DB / 10);
  const loud = blocks.filter(({ power }) => power >= limit && power > 0);
  return loud.length
    ? median(loud.map(({ power, peak }) => 20 * Math.log10(peak / Math.sqrt(power))))
    : NaN;
};

const crestReason = (recording, usual) => {
  if (usual.crest_db === null) return null;
  const crest = crestFactor(recording[0]);
  return crest < usual.crest_db
    ? `it is distorted, for example by clipping: its peaks are ${crest.toFixed(1)} dB above the ` +
        `mean, but at least ${usual.crest_db.toFixed(1)} dB are expected`
    : null;
};

/** Returns the length of the longest run of steps for which `isRepeated` is true. */
const longestRun = (count, isRepeated) => {
  let [longest, run] = [0, 0];
  for (let i = 1; i < count; i += 1) {
    run = isRepeated(i) ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
};

const stillReason = (recording, usual) => {
  if (usual.is_sound) return null;
  const steps = recording[0].length;
  const all = longestRun(steps, (i) => recording.every((values) => values[i] === values[i - 1]));
  if (all > Math.max(1, STILL * steps)) {
    return `it has a gap: all channels repeat their values for ${all} steps`;
  }
  for (const [channel, values] of recording.entries()) {
    const length = longestRun(steps, (i) => values[i] === values[i - 1]);
    if (length > Math.max(1, STUCK * steps) && !isFlag(usual, channel)) {
      return `channel ${usual.channels[channel]} is stuck: its value repeats for ${length} steps`;
    }
  }
  return null;
};

const magnitudeReason = (recording, usual) => {
  if (usual.stddev === null || usual.is_sound) return null;
  const ratios = recording.map((values, i) => stddev(values) / (usual.stddev[i] || 1e-38));
  const limit = usual.events ? MAGNITUDE_OF_EVENTS : MAGNITUDE;
  const groups = unitGroups(usual);
  for (const group of groups) {
    const ratio = median(group.map((i) => ratios[i]));
    if (ratio < 1 / limit || ratio > limit) {
      const isAll = group.length === groups.at(-1).length;
      const subject = isAll ? "it is" : `its channels in ${usual.units[group[0]]} are`;
      return (
        `${subject} ${Number(ratio.toPrecision(2))} times as strong as usual. The recording may have ` +
        "another unit (1 g is 9.81 m/s²), or may be of another kind"
      );
    }
  }
  return null;
};

/** Describes the fault of a recording, or returns null if it may be compared. */
export const fault = (recording, about) => {
  const reason = contractReason(recording, about);
  const { usual } = about;
  if (reason !== null || usual === null) return reason;
  const checks = [flagReason, constantReason];
  if (recording[0].length >= usual.steps) {
    const ofSensors = usual.events ? [] : [clippedReason, crestReason, stillReason];
    checks.push(faintReason, ...ofSensors, magnitudeReason);
  }
  for (const check of checks) {
    const found = check(recording, usual);
    if (found !== null) return found;
  }
  return null;
};

/** Returns a warning if the magnitude of a recording is unlike the training data, or null. */
export const warning = (recording, about) => {
  if (about.stddev_range === null) return null;
  const ratios = recording.map((values, i) => {
    const [low, high] = about.stddev_range[i];
    const deviation = stddev(values);
    const nearest = Math.min(Math.max(deviation, low), high);
    return deviation === nearest ? 1 : deviation / Math.max(nearest, 1e-38);
  });
  for (const unit of new Set(about.units)) {
    const ratio = median(ratios.filter((_, i) => about.units[i] === unit));
    if (ratio > MAGNITUDE_FACTOR || ratio < 1 / MAGNITUDE_FACTOR) {
      return (
        `The values in ${unit} are ${Number(ratio.toPrecision(2))} times as strong as in the ` +
        "recordings that trained the model. Check their unit."
      );
    }
  }
  return null;
};
