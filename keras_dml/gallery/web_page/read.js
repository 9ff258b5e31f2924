// Reads recordings from CSV and WAV files, and converts them to the units and the rate of a model.
// A recording has one Float32Array for each channel.
import { Refused } from "./elements.js";
import { evenlySpread, hasMissingSteps, longestPiece } from "./gaps.js";
import { isEven, isSameRate, resample } from "./resample.js";

const DELIMITERS = ["\t", ";", "|", ","];
const TIMES = /^(times?|t|ts|timestamps?|elapsed|clock)$/;
const SECONDS = {
  s: 1, sec: 1, secs: 1, second: 1, seconds: 1,
  ms: 1e-3, msec: 1e-3, millis: 1e-3, milliseconds: 1e-3,
  us: 1e-6, µs: 1e-6, micros: 1e-6, microseconds: 1e-6,
  ns: 1e-9, nanos: 1e-9, nanoseconds: 1e-9,
}; // prettier-ignore
const EPOCHS = [[1e17, 1e-9], [1e14, 1e-6], [1e11, 1e-3]]; // prettier-ignore
const GRAVITY = 9.80665; // m/s² in 1 g
const DEGREE = Math.PI / 180;
// Sizes of units of one quantity, in the spelling of `plain`.
const QUANTITIES = [
  { g: GRAVITY, mg: 1e-3 * GRAVITY, "m/s^2": 1, "cm/s^2": 1e-2, "mm/s^2": 1e-3 },
  { "rad/s": 1, "deg/s": DEGREE, "mdeg/s": 1e-3 * DEGREE },
  { m: 1, cm: 1e-2, mm: 1e-3 },
  { v: 1, mv: 1e-3, uv: 1e-6 },
];
const WORDS = { "m/s2": "m/s^2", "m/s/s": "m/s^2", dps: "deg/s", "cm/s2": "cm/s^2" };

const plain = (unit) => {
  const text = unit
    .trim()
    .toLowerCase()
    .replaceAll("²", "^2")
    .replaceAll("°", "deg")
    .replaceAll(/[µμ]/g, "u")
    .replaceAll(" ", "");
  return WORDS[text] ?? text;
};

/** Returns the factor from one unit to another, or null if the two cannot be converted. */
export const factor = (unit, wanted) => {
  const [from, to] = [plain(unit), plain(wanted)];
  if (from === to) return 1;
  const sizes = QUANTITIES.find((quantity) => from in quantity && to in quantity);
  return sizes ? sizes[from] / sizes[to] : null;
};

/** Splits a line of a table, in which texts may be in double quotes. */
const split = (line, delimiter) => {
  const cells = [];
  let [cell, isQuoted] = ["", false];
  for (let i = 0; i < line.length; i += 1) {
    const letter = line[i];
    if (letter === '"' && isQuoted && line[i + 1] === '"') {
      cell += letter;
      i += 1;
    } else if (letter === '"') isQuoted = !isQuoted;
    else if (letter === delimiter && !isQuoted) {
      cells.push(cell);
      cell = "";
    } else cell += letter;
  }
  cells.push(cell);
  return cells.map((text) => text.trim());
};

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const BOOLEANS = new Map([["true", 1], ["false", 0]]); // prettier-ignore
const numberOf = (text, hasCommas) => {
  const value = BOOLEANS.get(text.toLowerCase());
  if (value !== undefined) return value;
  const usual = hasCommas ? text.replace(",", ".") : text;
  return NUMBER.test(usual) ? Number(usual) : NaN;
};

/** Splits the name of a column into a name and a unit in brackets, such as `x (g)`. */
const splitUnit = (name) => {
  const match = /^(.+?)\s*[([]\s*([^()[\]]*)\s*[)\]]\s*$/.exec(name);
  return match ? [match[1].trim(), match[2] || null] : [name.trim(), null];
};

const table = (text) => {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim() && !/^(#|%|\/\/)/.test(line));
  if (!lines.length) throw new Refused("it is empty");
  const counts = DELIMITERS.map((delimiter) => split(lines.at(-1), delimiter).length);
  const delimiter = DELIMITERS[counts.indexOf(Math.max(...counts))];
  const hasCommas = delimiter !== "," && /\d,\d/.test(lines.at(-1));
  const rows = lines.map((line) => split(line, delimiter));
  const isOfNumbers = (row) => row.every((cell) => Number.isFinite(numberOf(cell, hasCommas)));
  const names = isOfNumbers(rows[0]) ? null : rows.shift();
  const column = (i) => Float64Array.from(rows, (row) => numberOf(row[i] ?? "", hasCommas));
  return { names, column, width: rows[0]?.length ?? 0, count: rows.length };
};

/** Returns the index of the column with a name, ignoring case and units as Python does. */
const indexOf = (names, wanted) => {
  const spellings = [(name) => name, (name) => name.toLowerCase()];
  spellings.push((name) => splitUnit(name)[0].toLowerCase());
  for (const spelled of spellings) {
    const indices = names.flatMap((name, i) => (spelled(name) === spelled(wanted) ? [i] : []));
    if (indices.length > 1) throw new Refused(`it has ${indices.length} columns ${wanted}`);
    if (indices.length) return indices[0];
  }
  throw new Refused(
    `it has no column ${wanted}. Its columns are ${names.slice(0, 12).join(", ")}. Name the ` +
      "columns of the model's channels under “Threshold, columns, rate”",
  );
};

const wordsOf = (name) => name.toLowerCase().split(/[\s_\-.:;/,()[\]]+/).filter(Boolean);

const timeUnit = (name) => {
  const word = wordsOf(name).findLast((text) => text in SECONDS);
  return word === undefined ? null : SECONDS[word];
};

const findTime = (names, channels) => {
  const indices = names.flatMap((name, i) => {
    const isTime = wordsOf(name).some((word) => TIMES.test(word)) || /^seconds/i.test(name.trim());
    return isTime && !channels.includes(i) ? [i] : [];
  });
  return indices.find((i) => timeUnit(names[i]) !== null) ?? indices[0] ?? null;
};

/** Returns rising times in seconds that begin at 0. */
const secondsOf = (times, name, unit) => {
  const size = unit ?? timeUnit(name) ?? EPOCHS.find(([first]) => times[0] >= first)?.[1] ?? 1;
  const seconds = times.map((time) => (time - times[0]) * size);
  const fall = seconds.findIndex((time, i) => !(i === 0 || time >= seconds[i - 1]));
  if (fall >= 0 || seconds.at(-1) === 0) {
    throw new Refused(`the time in column ${name} does not rise in row ${Math.max(fall, 1) + 1}`);
  }
  if (seconds.at(-1) > seconds.length) {
    throw new Refused(
      `the unit of column ${name} is unknown. Rename the column to ${name}_ms or ${name}_s`,
    );
  }
  return evenlySpread(seconds);
};

/**
 * Converts channels to the units and the rate of a model.
 *
 * @param signal `{channels, units, seconds, rate}`: Float64Arrays, their units or null, times in
 *     seconds or null, and steps per second or null.
 * @returns `{recording, notes}`.
 */
export const convert = (signal, about) => {
  const notes = [];
  let { channels, seconds } = signal;
  channels = channels.map((values, i) => {
    const unit = signal.units[i] ?? about.reading.units?.[i] ?? null;
    const wanted = about.units?.[i] ?? null;
    if (unit === null || wanted === null || wanted === "1") return values;
    const size = factor(unit, wanted);
    if (size === null) throw new Refused(`its unit is ${unit}, but the model takes ${wanted}`);
    return size === 1 ? values : values.map((value) => value * size);
  });
  if (about.units && !signal.units.some(Boolean) && !about.reading.units) {
    const units = [...new Set(about.units)].join(", ");
    if (units !== "1") notes.push(`The file does not state its units. The model takes ${units}.`);
  }
  let { rate } = signal;
  if (seconds) {
    const piece = longestPiece(channels, seconds);
    ({ channels, seconds } = piece);
    rate ??= piece.rate;
    notes.push(...piece.notes);
  }
  const isOther = about.rate_hz !== null && rate !== null && !isSameRate(rate, about.rate_hz);
  const isUneven = seconds !== null && !isEven(seconds) && hasMissingSteps(seconds);
  if (about.rate_hz !== null && (isOther || isUneven || (about.reading.resample && rate))) {
    channels = resample(channels, seconds, rate, about.rate_hz);
    if (isOther) notes.push(`Resampled from ${Math.round(rate)} to ${about.rate_hz} Hz.`);
  } else if (about.rate_hz !== null && rate === null) {
    notes.push(`The file does not state its rate. The model takes ${about.rate_hz} Hz.`);
  }
  return { recording: channels.map((values) => Float32Array.from(values)), notes };
};

/** Leaves out events that lack a value. */
const completeEvents = (channels) => {
  const isComplete = (_, row) => channels.every((values) => Number.isFinite(values[row]));
  const complete = channels.map((values) => values.filter(isComplete));
  if (!complete[0].length) throw new Refused("no event has a value in all channels");
  return complete;
};

const readTable = (text, about, options) => {
  const { names, column, width, count } = table(text);
  if (!count) throw new Refused("it has no rows of numbers");
  const wanted = options.channels ?? about.reading.channels ?? about.channels;
  let [indices, time] = [null, null];
  if (names === null) {
    if (width !== about.channels_count) {
      throw new Refused(`it has ${width} columns, but the model has ${about.channels_count}`);
    }
    indices = Array.from({ length: width }, (_, i) => i);
  } else {
    indices = wanted.map((name) => indexOf(names, name));
    const { time: named } = about.reading;
    time = named ? indexOf(names, named) : findTime(names, indices);
    if (about.events) time = null;
  }
  const channels = about.events ? completeEvents(indices.map(column)) : indices.map(column);
  channels.forEach((values, i) => {
    const row = values.findIndex((value) => !Number.isFinite(value));
    if (row >= 0) throw new Refused(`row ${row + 1} of channel ${wanted[i]} is not a number`);
  });
  const unit = SECONDS[about.reading.time_unit] ?? null;
  return {
    channels,
    units: indices.map((i) => names && splitUnit(names[i])[1]),
    seconds: time === null || count < 2 ? null : secondsOf(column(time), names[time], unit),
    rate: about.events ? null : (options.rate ?? about.reading.rate_hz ?? null),
  };
};

/** Reads samples of a WAV file (8 to 32 bits or floats) and averages its channels. */
const readSound = (buffer) => {
  const view = new DataView(buffer);
  const text = (at) => String.fromCharCode(...new Uint8Array(buffer, at, 4));
  if (buffer.byteLength < 44 || text(0) !== "RIFF" || text(8) !== "WAVE") {
    throw new Refused("it is not a WAV file");
  }
  let [form, at] = [null, 12];
  while (at + 8 <= buffer.byteLength && text(at) !== "data") {
    if (text(at) === "fmt ") form = at + 8;
    const size = view.getUint32(at + 4, true);
    at += 8 + size + (size % 2);
  }
  if (form === null || at + 8 > buffer.byteLength) throw new Refused("it holds no audio");
  const [count, rate] = [view.getUint16(form + 2, true), view.getUint32(form + 4, true)];
  const bits = view.getUint16(form + 14, true);
  const tag = view.getUint16(form, true);
  const kind = tag === 0xfffe ? view.getUint16(form + 24, true) : tag;
  const readers = {
    "1:8": (i) => (view.getUint8(i) - 128) / 128,
    "1:16": (i) => view.getInt16(i, true) / 2 ** 15,
    "1:24": (i) => (view.getInt8(i + 2) * 2 ** 16 + view.getUint16(i, true)) / 2 ** 23,
    "1:32": (i) => view.getInt32(i, true) / 2 ** 31,
    "3:32": (i) => view.getFloat32(i, true),
    "3:64": (i) => view.getFloat64(i, true),
  };
  const sample = readers[`${kind}:${bits}`];
  if (!sample || !count) throw new Refused("its samples are compressed. Save it as 16-bit PCM");
  const width = (count * bits) / 8;
  const size = Math.min(view.getUint32(at + 4, true), buffer.byteLength - at - 8);
  const samples = Float64Array.from({ length: Math.floor(size / width) }, (_, step) => {
    let total = 0;
    for (let i = 0; i < count; i += 1) total += sample(at + 8 + step * width + (i * bits) / 8);
    return total / count;
  });
  return { channels: [samples], units: [null], seconds: null, rate };
};

/**
 * Reads a file.
 *
 * @param file A `File`.
 * @param about Content of the model's `about.json`.
 * @param options `{channels, rate}`: names of columns and steps per second that the user gave, or
 *     null.
 * @returns `{recording, notes}`.
 */
export const readFile = async (file, about, options) => {
  try {
    const signal = about.is_sound
      ? readSound(await file.arrayBuffer())
      : readTable(await file.text(), about, options);
    return convert(signal, about);
  } catch (error) {
    // Folders, and files that were changed after the user chose them, cannot be read.
    const reason = error instanceof Refused ? error.message : "it cannot be read";
    throw new Refused(`${file.name}: ${reason}.`.replace(/\.\.$/, "."));
  }
};
