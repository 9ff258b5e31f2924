// Records with the microphone or the motion sensors of this device.

const LONGEST_SILENCE_MS = 3000; // a sensor that sends nothing for so long does not work

export class SensorError extends Error {}

/** Waits for some milliseconds. Rejects if the signal aborts. */
export const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/**
 * Collects samples until there are enough, the signal aborts, or the sensor is silent.
 *
 * @param listen Function that takes `(add, done)` and starts the sensor. The sensor calls `add`
 *     with each sample, and `done` when the recording is complete.
 */
const collect = (listen, silence, signal) =>
  new Promise((resolve, reject) => {
    const samples = [];
    let timer;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => reject(new SensorError(silence)), LONGEST_SILENCE_MS);
    };
    const add = (sample) => {
      samples.push(sample);
      wait();
    };
    const done = () => {
      clearTimeout(timer);
      resolve(samples);
    };
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
    wait();
    listen(add, done);
  });

/** Asks for permission to use the motion sensors. iOS grants it only during a click. */
export const allowMotion = async () => {
  if (!window.DeviceMotionEvent) {
    throw new SensorError("Pages cannot use motion sensors in this browser. Choose files instead.");
  }
  if (!DeviceMotionEvent.requestPermission) return;
  if ((await DeviceMotionEvent.requestPermission()) !== "granted") {
    throw new SensorError(
      "The motion sensors are not allowed. Allow motion for this page in the settings of the " +
        "browser, load the page again and record again.",
    );
  }
};

// Browsers name the angular rates about x, y and z in this order. Older documents state another
// order.
const RATES = { x: "alpha", y: "beta", z: "gamma" };
const RADIANS = Math.PI / 180; // in 1 degree

/** Returns the unit of a channel of `recordMotion`, by its number. */
export const unitOfMotion = (channel) => (channel < 3 ? "m/s2" : "rad/s");

const valuesOf = (event, axes, sensor) => {
  const withGravity = sensor !== "linear-acceleration";
  const acceleration = withGravity ? event.accelerationIncludingGravity : event.acceleration;
  return axes.map((axis, i) => {
    if (i < 3) return acceleration?.[axis] ?? null;
    const degrees = event.rotationRate?.[RATES[axis]] ?? null;
    return degrees === null ? null : RADIANS * degrees;
  });
};

/**
 * Records acceleration in m/s², and perhaps angular rate in rad/s, with the signs of the browser.
 *
 * Accelerations on iOS have the opposite sign of accelerations on Android
 * (dorukeker/gyronorm.js#54).
 *
 * @param axes Axis of the device for each channel: "x", "y" or "z". The first three channels are
 *     accelerations, and further channels are angular rates.
 * @param sensor "linear-acceleration" for accelerations without gravity, or the name of another
 *     motion sensor.
 * @param show Function that takes the seconds since the first sample and the values of a sample.
 * @returns Rows `[milliseconds, ...values]`.
 */
export const recordMotion = async (axes, sensor, seconds, show, signal) => {
  let hear;
  const listen = (add, done) => {
    let start = null;
    hear = (event) => {
      const values = valuesOf(event, axes, sensor);
      if (values.includes(null)) return; // Chromium sends null on devices without the sensor
      start ??= event.timeStamp;
      const time = event.timeStamp - start;
      add([time, ...values]);
      show(time / 1000, values);
      if (time < 1000 * seconds) return;
      window.removeEventListener("devicemotion", hear);
      done();
    };
    window.addEventListener("devicemotion", hear);
  };
  const silence =
    "The motion sensors sent nothing. Open this page on a phone, keep its screen on, and allow " +
    "motion sensors in the settings of the browser.";
  try {
    return await collect(listen, silence, signal);
  } finally {
    window.removeEventListener("devicemotion", hear);
  }
};

const microphone = async () => {
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: {
        channelCount: 1,
        // each of these options changes the voice
        autoGainControl: false,
        echoCancellation: false,
        noiseSuppression: false,
      },
    });
  } catch (error) {
    const reasons = {
      NotAllowedError: "The microphone is not allowed. Allow it for this page in the browser.",
      NotFoundError: "This device has no microphone. Choose files instead.",
    };
    throw new SensorError(reasons[error.name] ?? `The microphone cannot be used: ${error.message}`);
  }
};

const sourceOf = (stream, context) => {
  try {
    return context.createMediaStreamSource(stream);
  } catch (error) {
    if (error.name !== "NotSupportedError") throw error;
    return null;
  }
};

/**
 * Records audio, beginning with the first sample that is not 0.
 *
 * @param rate Requested number of samples per second.
 * @param show Function that takes the seconds since the first sample and the largest magnitude of
 *     a block of samples.
 * @returns `{samples, rate}`: samples in [-1, 1] and the rate of the samples. Firefox does not
 *     resample, so in Firefox this is the rate of the microphone.
 */
export const recordSound = async (rate, seconds, show, signal) => {
  let context = new AudioContext({ sampleRate: rate }); // iOS: during a click
  let stream;
  try {
    stream = await microphone();
    let source = sourceOf(stream, context);
    if (source === null) {
      await context.close();
      context = new AudioContext();
      source = sourceOf(stream, context);
    }
    await context.audioWorklet.addModule("worklet.js");
    const node = new AudioWorkletNode(context, "recorder", {
      channelCount: 1,
      channelCountMode: "explicit",
    });
    const wanted = Math.round(seconds * context.sampleRate);
    const listen = (add, done) => {
      let count = 0;
      node.port.onmessage = ({ data }) => {
        const start = count ? 0 : data.findIndex((sample) => sample !== 0);
        if (start < 0 || count >= wanted) return;
        const block = data.subarray(start, start + wanted - count);
        count += block.length;
        add(block);
        show(
          count / context.sampleRate,
          block.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0),
        );
        if (count >= wanted) done();
      };
      source.connect(node).connect(context.destination); // the node's output is silent
      context.resume();
    };
    const silence = "The microphone is silent. Turn it on and record again.";
    const blocks = await collect(listen, silence, signal);
    const samples = new Float32Array(wanted);
    let at = 0;
    for (const block of blocks) {
      samples.set(block, at);
      at += block.length;
    }
    return { samples, rate: context.sampleRate };
  } finally {
    stream?.getTracks().forEach((track) => track.stop());
    await context.close();
  }
};
