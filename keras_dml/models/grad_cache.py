"""Large batches in little memory: an encoder that embeds its batch in chunks while it trains."""

from keras_dml._arrays import whole
from keras_dml._backend import keras, ops, turns
from keras_dml.distances import agreement
from keras_dml.layers.head import Head


@keras.saving.register_keras_serializable(package="keras_dml")
class GradCache(keras.Model):
    """Trains an encoder on batches whose activations would not fit into memory (Gao2021).

    A loss of pairs gains from large batches, but a step keeps the activations of all rows. In
    training this model embeds at most `chunk` rows at a time and keeps the embeddings alone. The
    loss sees those of the whole batch with all labels, so that pairs across chunks count; its
    gradient by the embeddings is kept, and each chunk is embedded again to pass its part on to the
    weights. A step costs one more pass through the encoder. It is the step of the large batch up to
    rounding, and takes the memory of one chunk, of the embeddings and of what the loss needs.

    In inference it is its encoder: same input, same output, same distance. To publish a model, take
    `model.encoder`, which shares the weights. It trains under plain `fit` by any loss of
    `keras_dml.losses`, with weights of rows where the loss takes them, on several devices too, and
    stands for its encoder in `PrototypicalClassifier` and `PotatoNetwork`.

    Of `c = ceil(batch / chunk)` chunks, number i holds the rows i, i + c, i + 2c, ..., so that each
    has rows of all classes of a sorted batch. Any batch will do: a chunk that is a row short
    repeats one, whose second embedding is dropped. Dropout draws for each chunk, the same numbers
    both times: the second pass starts from the state, that of the random generators included, from
    which the first did. Batch normalization sees one chunk at a time and moves its statistics once
    for each: the step is then that of a network which normalizes by chunks. Set its layers
    `trainable = False` before `compile` for the step of the large batch.

    Args:
        encoder: A functional or sequential `keras.Model` of one input and one output.
        chunk: Largest number of rows that are embedded at once.

    Raises:
        TypeError: If `chunk` is not an integer.
        ValueError: If the encoder is not such a model, or `chunk` is not positive; in the first
            step if the encoder has losses of activations, which the cache does not hold.

    Example:
        >>> encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        >>> model = keras_dml.models.GradCache(encoder, chunk=2)
        >>> model.compile("sgd", keras_dml.losses.TripletLoss())
        >>> x = np.eye(3, dtype="float32")[[0, 0, 1, 1, 2]]
        >>> history = model.fit(x, np.array([0, 0, 1, 1, 2]), verbose=0)
        >>> model.encoder(x).shape
        TensorShape([5, 2])
    """

    def __init__(self, encoder, chunk, *, name="grad_cache", **kwargs):
        _check_encoder(encoder)
        super().__init__(encoder.inputs[0], encoder.outputs[0], name=name, **kwargs)
        self.supports_masking = True  # the encoder takes one, embeddings have none
        self.encoder = encoder
        self.chunk = whole("chunk", chunk, minimum=1)

    def call(self, inputs, training=None, mask=None):
        if not training:
            return super().call(inputs, training=training, mask=mask)
        rows = ops.shape(inputs)[0]
        count = -(-rows // self.chunk)
        size = -(-rows // count)
        given = (inputs,) if mask is None else (inputs, mask)
        embeddings, state = turns.in_turns(
            self._embedded,
            [ops.convert_to_tensor(weight) for weight in self.encoder.trainable_variables],
            [ops.convert_to_tensor(one) for one in self.encoder.non_trainable_variables],
            tuple(_in_parts(one, size, count) for one in given),
            count,
            self.encoder.outputs[0],
        )
        for variable, value in zip(self.encoder.non_trainable_variables, state, strict=True):
            variable.assign(value)
        embeddings = ops.swapaxes(embeddings, 0, 1)  # (size, count, ...)
        embeddings = ops.reshape(embeddings, (-1, *embeddings.shape[2:]))[:rows]
        head = self.encoder.layers[-1]
        return agreement.mark(embeddings, head) if isinstance(head, Head) else embeddings

    def _embedded(self, weights, state, part):
        """Embeddings of some rows, and the next state."""
        inputs, *mask = part
        mask = {"mask": mask[0]} if mask else {}
        found, state, losses = self.encoder.stateless_call(
            weights, state, inputs, training=True, return_losses=True, **mask
        )
        penalties = sum(weight.regularizer is not None for weight in self.encoder.trainable_weights)
        if len(losses) > penalties:
            raise ValueError(
                f"{self.encoder.name} has {len(losses) - penalties} losses of its activations "
                "(`activity_regularizer` or `add_loss`), which GradCache does not keep. Regularize "
                "weights instead, or train the encoder without it."
            )
        return found, state

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self):
        return {
            "name": self.name,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "chunk": self.chunk,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        encoder = keras.saving.deserialize_keras_object(
            config["encoder"], custom_objects=custom_objects
        )
        return cls(**{**config, "encoder": encoder})


def _in_parts(x, size, count):
    """Rows as `(size, count, ...)`, those of part i at `[:, i]`.

    Where the batch does not divide, the last parts are a row short and repeat their last one. Rows
    that lie on several devices stay there.
    """
    rows = ops.shape(x)[0]
    missing = size * count - rows
    x = ops.concatenate([x, x[rows - count : rows - count + missing]])
    return ops.reshape(x, (size, count, *ops.shape(x)[1:]))


def _check_encoder(encoder):
    built = isinstance(encoder, keras.Model)
    inputs, outputs = (getattr(encoder, name, None) or () for name in ("inputs", "outputs"))
    if not (built and len(inputs) == len(outputs) == 1):
        raise ValueError(
            "`encoder` must be a functional or sequential `keras.Model` of one input and one "
            f"output. Received {type(encoder).__name__} with {len(inputs)} inputs and "
            f"{len(outputs)} outputs. Begin it with `keras.Input(shape)`; of a classifier wrap the "
            "encoder: `PrototypicalClassifier(GradCache(encoder, chunk), classes)`."
        )
