// Writes audio as WAV files and motion as CSV files.
import { unitOfMotion } from "./sensors.js";

const FULL_INT16 = 32768;

/** Returns a WAV file (16-bit PCM, one channel) of samples in [-1, 1]. */
export const wav = (samples, rate) => {
  const size = 2 * samples.length;
  const view = new DataView(new ArrayBuffer(44 + size));
  const text = (at, letters) =>
    [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + size, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); // size of the format in bytes
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true); // bytes per second
  view.setUint16(32, 2, true); // bytes per sample
  view.setUint16(34, 16, true); // bits per sample
  text(36, "data");
  view.setUint32(40, size, true);
  samples.forEach((sample, i) => {
    const value = Math.round(FULL_INT16 * sample);
    view.setInt16(44 + 2 * i, Math.max(-FULL_INT16, Math.min(FULL_INT16 - 1, value)), true);
  });
  return new Blob([view], { type: "audio/wav" });
};

const field = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Returns a CSV file of rows `[milliseconds, ...values]` that motion sensors recorded. */
export const csv = (rows, channels) => {
  const names = channels.map((channel, i) => field(`${channel} (${unitOfMotion(i)})`));
  const header = ["time_ms", ...names];
  const lines = rows.map(([time, ...values]) =>
    [time.toFixed(1), ...values.map((value) => value.toFixed(4))].join(","),
  );
  return new Blob([`${[header.join(","), ...lines].join("\n")}\n`], { type: "text/csv" });
};
