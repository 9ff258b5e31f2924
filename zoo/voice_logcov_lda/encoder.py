"""Builds the encoder of `voice_logcov_lda`, which is fitted in closed form. The encoder computes
cepstra, the covariance of the cepstra, and linear discriminants.
"""

import dataclasses

import numpy as np
from scipy import fft
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from keras_dml import evaluation, inference, layers
from keras_dml._backend import keras
from keras_dml.training import People
from zoo import recipe, speech, speech_augment

BANDS = 60
CEPSTRA = range(12, 19)  # to choose from; the first cepstrum, the level, is left out
FRAMES = 48  # half a second: a covariance of fewer is a guess
LEAST = 8_000  # samples that are kept in any case: enough for these frames
FLOOR = 1e-2  # of the covariance's eigenvalues, in squared units of the cepstra
EMBEDDING = 75
SHRINKAGE = 0.3  # of the covariance within speakers, toward a multiple of the identity
INNER_FOLDS = 4  # within the speakers of a fold's training


def network(cepstra, cuts_silence=False):
    """Builds the untrained encoder.

    Every recording is scaled to the same level, because the smallest value of the log-mel bands
    does not depend on the level. The next layers compute the cepstra of the frames with speech, and
    the covariance of the cepstra.

    Args:
        cepstra: Number of cepstra.
        cuts_silence: Whether the encoder first removes silence, as in the published file. Training
            recordings have no silence at their ends.
    """
    audio = keras.Input((None, 1), name="audio")
    x = recipe.input_contract(recipe.about_model("voice_logcov_lda")["input"])(audio)
    if cuts_silence:
        x = layers.SilenceRemoval(speech.RATE_HZ, least=LEAST, name="silence")(x)
    x = layers.InstanceStandardization(epsilon=1e-10, name="unit_level")(x)
    x = keras.layers.Rescaling(speech.LEVEL, name="level")(x)
    x = layers.LogMel(BANDS, min_frames=FRAMES, name="log_mel")(x)
    x = layers.VoiceActivity(name="speech")(x)
    x = keras.layers.Dense(cepstra, use_bias=False, name="cepstra")(x)
    x = layers.Covariance(name="covariance")(x)
    x = layers.LogEig(FLOOR, name="logarithm")(x)
    x = layers.TangentVector(name="statistics")(x)
    x = keras.layers.Dense(EMBEDDING, name="embedding")(x)
    model = keras.Model(audio, x, name="voice_logcov_lda")
    cosines = fft.dct(np.eye(BANDS), axis=1, norm="ortho")
    model.get_layer("cepstra").set_weights([cosines[:, 1 : cepstra + 1]])
    return model


@dataclasses.dataclass
class Voices:
    """Recordings of voices, with the statistics of each recording for several numbers of cepstra.

    Attributes:
        people: Recordings. A voice at another speed, `"01@0.8"`, counts as another voice of the
            speaker `"01"`.
        statistics: Dictionary from numbers of cepstra to arrays of shape `(recordings, features)`.
    """

    people: People
    statistics: dict

    @classmethod
    def from_recordings(cls, recordings):
        """Creates `Voices` from recordings, and adds copies of the recordings at all speeds."""
        every = speech_augment.with_speeds(recordings)
        statistics = {}
        for count in CEPSTRA:
            encoder = network(count)
            model = keras.Model(encoder.input, encoder.get_layer("statistics").output)
            x = inference.embed(model, every.signals)
            statistics[count] = x.astype(np.float64)
        return cls(every, statistics)

    @property
    def speakers(self):
        return np.array([subject.split("@")[0] for subject in self.people.subjects])

    def without(self, speakers):
        """Returns the recordings of all speakers except `speakers`."""
        keep = ~np.isin(self.speakers, speakers)
        statistics = {count: x[keep] for count, x in self.statistics.items()}
        return Voices(self.people.take(keep), statistics)


def discriminants(x, voices):
    """Computes the kernel and the bias of linear discriminants that separate voices by their
    statistics.

    Args:
        x: Statistics, shape `(recordings, features)`.
        voices: Voice of each recording, shape `(recordings,)`.
    """
    names, index = np.unique(voices, return_inverse=True)
    size = min(EMBEDDING, len(names) - 1)
    stddev = x.std(axis=0)
    fitted = LinearDiscriminantAnalysis("eigen", shrinkage=SHRINKAGE, n_components=size)
    fitted.fit(x / stddev, index)
    kernel = fitted.scalings_[:, :size] / stddev[:, None]
    center = np.mean([x[index == k].mean(axis=0) for k in range(len(names))], axis=0)
    return kernel, -center @ kernel


def choose_cepstra(voices):
    """Chooses the number of cepstra with which the cosine separates speakers best in a
    cross-validation with four folds.

    The discriminants of a fold are not fitted to the speakers in this fold.
    """
    originals = np.flatnonzero(["@" not in subject for subject in voices.people.subjects])
    subjects, speakers = np.asarray(voices.people.subjects), voices.speakers
    parts = speech.folds(subjects[originals], INNER_FOLDS)
    first, second, genuine, fold = speech.trials(subjects[originals], parts)
    rates = {}
    for count, x in voices.statistics.items():
        cosines = np.empty(len(genuine))
        for k, held_out in enumerate(parts):
            keep, is_fold = ~np.isin(speakers, held_out), fold == k
            kernel, bias = discriminants(x[keep], subjects[keep])
            z = x[originals] @ kernel + bias
            cosines[is_fold] = evaluation.paired_cosine(z[first[is_fold]], z[second[is_fold]])
        rates[count] = evaluation.verification(-cosines, genuine).eer
    return min(rates, key=rates.get)


def fitted(voices):
    """Fits an encoder to voices. The last layer of the encoder computes linear discriminants.
    Returns the encoder and the number of cepstra.

    Args:
        voices: `Voices`.
    """
    cepstra = choose_cepstra(voices)
    encoder = network(cepstra)
    parts = discriminants(voices.statistics[cepstra], np.asarray(voices.people.subjects))
    encoder.get_layer("embedding").set_weights(parts)
    return encoder, cepstra
