// Makes recordings with the sensor of a model, and shows a countdown, a trace and the time.
import { by, numberIn } from "./elements.js";
import { allowMotion, pause, recordMotion, recordSound } from "./sensors.js";
import { drawMotion, drawSound } from "./trace.js";

const SECONDS = { usual: 6, most: 60 }; // default and largest length of a recording

const WALK = {
  button: "Record a walk",
  word: "walk",
  advice:
    "Use the same phone and carry it in the same place each time, such as the right trouser " +
    "pocket. Walk until the time is over. The screen must stay on.",
  sensor: "the motion sensors",
  delay: 5, // to put the phone into a pocket
  allow: allowMotion,
  draw: drawMotion,
  async record({ channels, sensor }, seconds, show, signal) {
    const axes = channels.map((channel) => channel.toLowerCase().at(-1));
    return { rows: await recordMotion(axes, sensor, seconds, show, signal) };
  },
};
const KINDS = {
  accelerometer: WALK,
  "accelerometer-gyroscope": WALK,
  "linear-acceleration": WALK,
  microphone: {
    button: "Record speech",
    word: "recording",
    advice: "Speak in your usual voice until the time is over.",
    sensor: "the microphone",
    delay: 0,
    allow: async () => {},
    draw: drawSound,
    record: ({ rate_hz: rate }, ...rest) => recordSound(rate, ...rest),
  },
};

let made = 0; // number of recordings that this page has made
let cancel = null; // function that ends the current recording

/** Returns the word for a recording of a sensor. */
export const wordFor = (sensor) => KINDS[sensor]?.word ?? "recording";

/**
 * Shows the recorder, or the reason why this page cannot record.
 *
 * @param model `{sensor, channels, rate_hz, min_steps}`.
 * @param most Largest number of time steps of a recording, or null.
 */
export const offer = (model, most) => {
  const kind = KINDS[model.sensor];
  by("recorder").hidden = !kind || !isSecureContext;
  by("insecure").hidden = !kind || isSecureContext;
  if (!kind) return;
  by("insecure").textContent =
    `This page was opened over plain HTTP, so it cannot use ${kind.sensor}. Open the page over ` +
    "HTTPS, or at 127.0.0.1 on the server's own machine. You can still choose files.";
  by("record").textContent = kind.button;
  by("advice").textContent = kind.advice;
  const { rate_hz: rate, min_steps: least } = model;
  // Motion is recorded until the time is over, so there is one step more.
  const longest = most === null ? SECONDS.most : Math.floor((most - 1) / rate);
  by("seconds").max = Math.max(1, Math.min(SECONDS.most, longest));
  by("seconds").value = Math.min(
    by("seconds").max,
    Math.max(SECONDS.usual, Math.ceil((2 * least) / rate)),
  );
  by("delay").value = kind.delay;
};

/**
 * Makes a recording.
 *
 * @param model See `offer`.
 * @param keep Function that takes a number and `{rows}` for motion, or `{samples, rate}` for sound.
 *     Each row is `[milliseconds, ...values]`, see `recordMotion`. The function returns the fault of the
 *     recording, if the recording has a fault.
 */
export const record = async (model, keep) => {
  const kind = KINDS[model.sensor];
  const [seconds, delay] = [numberIn("seconds", "Seconds"), numberIn("delay", "Countdown")];
  const controller = new AbortController();
  const { signal } = controller;
  await kind.allow();
  cancel = () => controller.abort();
  const lock = await navigator.wakeLock?.request("screen").catch(() => null);
  by("running").hidden = false;
  by("progress").max = seconds;
  by("progress").value = 0;
  by("state").textContent = "";
  by("left").textContent = "";
  try {
    const draw = kind.draw(by("trace"), seconds);
    for (let left = delay; left > 0; left -= 1) {
      by("left").textContent = `Starts in ${left} s`;
      await pause(1000, signal);
    }
    by("state").textContent = `Recording ${seconds} s.`;
    by("left").textContent = `${seconds} s left`;
    const show = (now, values) => {
      draw(now, values);
      by("progress").value = now;
      by("left").textContent = `${Math.max(0, Math.ceil(seconds - now))} s left`;
    };
    const content = await kind.record(model, seconds, show, signal);
    made += 1;
    by("state").textContent = keep(made, content) ?? `The recording is ready: ${seconds} s.`;
    navigator.vibrate?.(300);
  } catch (error) {
    by("state").textContent = "";
    if (!signal.aborted) throw error;
    by("state").textContent = "The recording was canceled.";
  } finally {
    cancel = null;
    by("running").hidden = true;
    await lock?.release();
  }
};

by("cancel").addEventListener("click", () => cancel?.());
document.addEventListener("keydown", (event) => event.key === "Escape" && cancel?.());
