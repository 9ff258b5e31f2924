// Resamples recordings in the same way as `keras_dml.recordings` with `resample_hz`: cubic splines
// through uneven times, and a low-pass filter that is designed by a Kaiser window.
// A channel is a Float64Array.
import { Refused } from "./elements.js";
import { least, most } from "./numbers.js";

const PASSED = 0.9; // end of the pass band, as a fraction of the lower Nyquist frequency
const STOPPED_DB = 65; // attenuation above the lower Nyquist frequency
const EVEN = 0.1; // even times may deviate by this fraction of a step, or by the clock resolution
const FINER = 2; // uneven times are interpolated at this multiple of the native rate
const ROUNDS = 6; // number of splines; each corrects what the earlier splines attenuate
const CLOSEST = 0.2; // samples closer than this fraction of a step are averaged
const FINEST = 2; // the new rate is at most this multiple of the rate of the recording
const LARGEST = 1000; // limit for numerator and denominator of a ratio of nominal rates
const DRIFT = 1e-4; // allowed relative error of a ratio of measured rates
const FEWEST = 8; // smallest number of samples for a spline
const SAME = 0.02; // rates that differ by at most this fraction count as equal

/** Returns whether a measured rate differs from a nominal rate by at most 2 %. */
export const isSameRate = (measured, nominal) => Math.abs(measured - nominal) <= SAME * nominal;

/** Returns the smallest time difference that a clock can record, in seconds. */
const resolutionOf = (seconds) => {
  const steps = [];
  for (let i = 1; i < seconds.length; i += 1) steps.push(seconds[i] - seconds[i - 1]);
  const positive = steps.filter((step) => step > 0);
  if (!positive.length) return 0;
  const spread = most(positive) - least(positive);
  for (let power = 0; power > -10; power -= 1) {
    const size = 10 ** power;
    const isMultiple = (time) => Math.abs(time / size - Math.round(time / size)) < 1e-3;
    if (seconds.every(isMultiple)) return Math.min(size, spread);
  }
  return 0;
};

/** Returns whether times, which begin at 0, are evenly spaced apart from rounding. */
export const isEven = (seconds) => {
  if (seconds.length < 3) return true;
  const step = seconds.at(-1) / (seconds.length - 1);
  const limit = Math.max(EVEN * step, 1.01 * resolutionOf(seconds));
  return seconds.every((time, i) => Math.abs(time - i * step) <= limit);
};

const divisor = (a, b) => (b ? divisor(b, a % b) : a);

const fraction = (rate) => {
  for (let below = 1; below <= LARGEST; below += 1) {
    const above = Math.round(rate * below);
    if (Math.abs(above / below - rate) <= 1e-9 * rate) return [above, below];
  }
  return null;
};

/** Returns `[up, down]`, the ratio of two rates as a fraction. */
const ratioOf = (wanted, native) => {
  const [a, b] = [fraction(wanted), fraction(native)];
  if (a && b) {
    const [up, down] = [a[0] * b[1], a[1] * b[0]];
    const common = divisor(up, down);
    if (Math.max(up, down) / common <= LARGEST) return [up / common, down / common];
  }
  const ratio = wanted / native;
  let down = 1;
  while (Math.abs(Math.round(ratio * down) / down / ratio - 1) > DRIFT) down += 1;
  return [Math.round(ratio * down), down];
};

/** Modified Bessel function of the first kind and order 0. */
const bessel = (x) => {
  let [sum, term] = [1, 1];
  for (let k = 1; term > 1e-17 * sum; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
};

/** Returns a low-pass filter of odd length, whose values sum to `gain`. */
const lowPass = (edge, gain) => {
  const count = Math.ceil((STOPPED_DB - 7.95) / 2.285 / (Math.PI * (1 - PASSED) * edge) + 1);
  const beta = 0.1102 * (STOPPED_DB - 8.7);
  const half = Math.floor(count / 2) + 1;
  const cutoff = ((1 + PASSED) / 2) * edge;
  const taps = Float64Array.from({ length: 2 * half + 1 }, (_, i) => {
    const x = Math.PI * cutoff * (i - half);
    const sinc = x === 0 ? 1 : Math.sin(x) / x;
    return cutoff * sinc * bessel(beta * Math.sqrt(1 - ((i - half) / half) ** 2));
  });
  const sum = taps.reduce((total, tap) => total + tap, 0);
  return { taps: taps.map((tap) => (gain * tap) / sum), half };
};

/** Resamples a channel by the ratio `up / down`, with odd reflection at its two ends. */
const polyphase = (values, up, down, cutoff = 1) => {
  if (up === 1 && down === 1 && cutoff === 1) return values;
  const { taps, half } = lowPass(cutoff / Math.max(up, down), up);
  const last = values.length - 1;
  const reflected = Math.min(Math.ceil(half / (up * down)) * down, last);
  const at = (k) => {
    if (k < 0) return 2 * values[0] - values[Math.min(-k, reflected)];
    if (k > last) return 2 * values[last] - values[last - Math.min(k - last, reflected)];
    return values[k];
  };
  const count = Math.floor((last * up) / down) + 1;
  return Float64Array.from({ length: count }, (_, m) => {
    const center = m * down;
    let sum = 0;
    const end = Math.floor((center + half) / up);
    for (let k = Math.ceil((center - half) / up); k <= end; k += 1) {
      sum += at(k) * taps[center - k * up + half];
    }
    return sum;
  });
};

/** Returns a function that evaluates the cubic spline through points, at ascending times.
 *
 * At its two ends, a natural spline has no curvature. The other spline has one cubic polynomial for
 * the first two intervals and one for the last two intervals ("not a knot").
 */
const spline = (times, values, isNatural) => {
  const n = times.length;
  const step = (i) => times[i + 1] - times[i];
  const slope = (i) => (values[i + 1] - values[i]) / step(i);
  // Thomas algorithm for the derivatives at the points.
  const [lower, diagonal, upper, right] = [0, 1, 2, 3].map(() => new Float64Array(n));
  for (let i = 1; i < n - 1; i += 1) {
    lower[i] = step(i);
    diagonal[i] = 2 * (step(i - 1) + step(i));
    upper[i] = step(i - 1);
    right[i] = 3 * (step(i) * slope(i - 1) + step(i - 1) * slope(i));
  }
  if (isNatural) {
    [diagonal[0], upper[0], right[0]] = [2, 1, 3 * slope(0)];
    [lower[n - 1], diagonal[n - 1], right[n - 1]] = [1, 2, 3 * slope(n - 2)];
  } else {
    const both = times[2] - times[0];
    [diagonal[0], upper[0]] = [step(1), both];
    right[0] = ((step(0) + 2 * both) * step(1) * slope(0) + step(0) ** 2 * slope(1)) / both;
    const ends = times[n - 1] - times[n - 3];
    [lower[n - 1], diagonal[n - 1]] = [ends, step(n - 3)];
    const [first, second] = [step(n - 2) ** 2 * slope(n - 3), 2 * ends + step(n - 2)];
    right[n - 1] = (first + second * step(n - 3) * slope(n - 2)) / ends;
  }
  for (let i = 1; i < n; i += 1) {
    const factor = lower[i] / diagonal[i - 1];
    diagonal[i] -= factor * upper[i - 1];
    right[i] -= factor * right[i - 1];
  }
  const derivative = new Float64Array(n);
  derivative[n - 1] = right[n - 1] / diagonal[n - 1];
  for (let i = n - 2; i >= 0; i -= 1) {
    derivative[i] = (right[i] - upper[i] * derivative[i + 1]) / diagonal[i];
  }
  return (places) => {
    let i = 0;
    return Float64Array.from(places, (place) => {
      while (i < n - 2 && place > times[i + 1]) i += 1;
      const [h, x] = [step(i), place - times[i]];
      const [a, b] = [derivative[i], derivative[i + 1]];
      const c = (3 * slope(i) - 2 * a - b) / h;
      const d = (a + b - 2 * slope(i)) / h ** 2;
      return values[i] + x * (a + x * (c + x * d));
    });
  };
};

const withoutCloseSamples = (seconds, channels, closest) => {
  const groups = [];
  seconds.forEach((time, i) => {
    if (i && time - seconds[i - 1] < closest) groups.at(-1).push(i);
    else groups.push([i]);
  });
  if (groups.length === seconds.length) return [seconds, channels];
  const averaged = (column) =>
    Float64Array.from(groups, (rows) => {
      return rows.reduce((sum, row) => sum + column[row], 0) / rows.length;
    });
  const times = averaged(seconds);
  times[0] = seconds[0];
  times[times.length - 1] = seconds.at(-1);
  return [times, channels.map(averaged)];
};

const uneven = (seconds, channels, native, wanted) => {
  const finer = Math.max(1, Math.ceil((FINER * native) / wanted - 1e-6));
  const gridHz = finer * wanted;
  const last = seconds.at(-1);
  const count = Math.floor(last * gridHz + 1e-6 * finer) + 1;
  const grid = Float64Array.from({ length: count }, (_, i) => Math.min(i / gridHz, last));
  return channels.map((values) => {
    let even = new Float64Array(count);
    let missing = values;
    for (let round = 0; round < ROUNDS; round += 1) {
      const added = polyphase(
        spline(seconds, missing, true)(grid),
        1,
        1,
        Math.min(1, native / gridHz),
      );
      even = even.map((value, i) => value + added[i]);
      const fitted = spline(grid, even, false)(seconds);
      missing = values.map((value, i) => value - fitted[i]);
    }
    return polyphase(even, 1, finer);
  });
};

/**
 * Resamples the channels of a recording.
 *
 * @param channels One Float64Array for each channel.
 * @param seconds Rising times that begin at 0, or null if the steps are even.
 * @param native Steps per second of the recording.
 * @param wanted Steps per second of the result.
 */
export const resample = (channels, seconds, native, wanted) => {
  if (wanted > FINEST * (1 + SAME) * native) {
    throw new Refused(
      `The recording has ${native.toPrecision(4)} steps per second, but the model takes ` +
        `${wanted}. Record at ${wanted / FINEST} steps per second or more.`,
    );
  }
  if (channels[0].length < FEWEST) {
    throw new Refused(`The recording has fewer than ${FEWEST} steps.`);
  }
  if (seconds === null || isEven(seconds)) {
    const [up, down] = ratioOf(wanted, native);
    return channels.map((values) => polyphase(values, up, down));
  }
  const [times, values] = withoutCloseSamples(seconds, channels, CLOSEST / native);
  return uneven(times, values, native, wanted);
};
