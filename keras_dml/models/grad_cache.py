"""Implements gradient caching (GradCache), which trains on large batches in little memory."""

from typing import Any, Self

from keras_dml._arrays import whole
from keras_dml._backend import keras, ops, turns
from keras_dml._typing import Tensor
from keras_dml.distances import agreement
from keras_dml.layers.head import Head


@keras.saving.register_keras_serializable(package="keras_dml")
class GradCache(keras.Model):
    """Wrapper that trains an encoder on batches whose activations do not fit into memory
    (gradient caching; Gao2021).

    Losses that compare pairs of rows work better with large batches, but an ordinary training step
    stores the activations of all rows. In training this model embeds at most `chunk` rows at a time
    and stores only the embeddings. The loss uses the embeddings and labels of the whole batch,
    including pairs across chunks. The model stores the gradient of the loss with respect to the
    embeddings, embeds each chunk again and propagates the gradient to the weights. Compared with an
    ordinary step, a step with `GradCache` computes one more pass through the encoder. Except for
    rounding, the weights after an ordinary step and after a step with `GradCache` are equal. The
    step needs memory for the activations of one chunk, for all embeddings and for the loss.

    In inference, the model has the same input, output and distance as its encoder. To publish a
    trained model, use `model.encoder`, which shares its weights with this model. `fit` accepts any
    loss of `keras_dml.losses`, and works on several devices. `fit` accepts sample weights if the
    loss accepts sample weights. A `GradCache` model can be the encoder of `PrototypicalClassifier`
    and `PotatoNetwork`.

    There are `c = ceil(batch / chunk)` chunks. Chunk i holds the rows i, i + c, i + 2c, ..., so
    each chunk has rows of all classes if the batch is sorted by class. The batch size does not have
    to be a multiple of the number of chunks. If a chunk lacks one row, the model repeats one of its
    rows, and drops the embedding of the repeated row. The first and the second pass draw the same
    dropout masks for a chunk, because both passes start from the same state of the encoder and of
    its random generators. Batch normalization normalizes each chunk and updates its statistics once
    per chunk. With batch normalization, the step therefore equals the step of a network that
    normalizes each chunk separately. To get the same step as without `GradCache`, set `trainable =
    False` for all batch normalization layers before `compile`.

    Args:
        encoder: A functional or sequential `keras.Model` with one input and one output.
        chunk: Largest number of rows that the model embeds at once.

    Raises:
        TypeError: If `chunk` is not an integer.
        ValueError: If the encoder is not a functional or sequential model with one input and one
            output, or if `chunk` is not positive. The first training step also raises a ValueError
            if layers of the encoder add losses that depend on activations, because such losses
            cannot be cached.

    Example:
        >>> encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        >>> model = keras_dml.models.GradCache(encoder, chunk=2)
        >>> model.compile("sgd", keras_dml.losses.TripletLoss())
        >>> x = np.eye(3, dtype="float32")[[0, 0, 1, 1, 2]]
        >>> history = model.fit(x, np.array([0, 0, 1, 1, 2]), verbose=0)
        >>> model.encoder(x).shape
        TensorShape([5, 2])
    """

    def __init__(
        self, encoder: keras.Model, chunk: int, *, name: str = "grad_cache", **kwargs: Any
    ):
        _check_encoder(encoder)
        super().__init__(encoder.inputs[0], encoder.outputs[0], name=name, **kwargs)
        self.supports_masking = True  # the encoder uses masks, and embeddings have no mask
        self.encoder = encoder
        self.chunk = whole("chunk", chunk, minimum=1)

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        if not training:
            return super().call(inputs, training=training, mask=mask)
        rows = ops.shape(inputs)[0]
        count = -(-rows // self.chunk)
        size = -(-rows // count)
        tensors = (inputs,) if mask is None else (inputs, mask)
        embeddings, state = turns.in_turns(
            self._embed_chunk,
            [ops.convert_to_tensor(variable) for variable in self.encoder.trainable_variables],
            [ops.convert_to_tensor(variable) for variable in self.encoder.non_trainable_variables],
            tuple(_split_into_chunks(tensor, size, count) for tensor in tensors),
            count,
            self.encoder.outputs[0],
        )
        for variable, value in zip(self.encoder.non_trainable_variables, state, strict=True):
            variable.assign(value)
        embeddings = ops.swapaxes(embeddings, 0, 1)  # (size, count, ...)
        embeddings = ops.reshape(embeddings, (-1, *embeddings.shape[2:]))[:rows]
        head = self.encoder.layers[-1]
        return agreement.mark(embeddings, head) if isinstance(head, Head) else embeddings

    def _embed_chunk(self, weights, state, chunk):
        """Returns the embeddings of a chunk, and the state of the encoder after this chunk."""
        inputs, *mask = chunk
        mask = {"mask": mask[0]} if mask else {}
        embeddings, state, losses = self.encoder.stateless_call(
            weights, state, inputs, training=True, return_losses=True, **mask
        )
        penalties = sum(weight.regularizer is not None for weight in self.encoder.trainable_weights)
        if len(losses) > penalties:
            raise ValueError(
                f"The encoder {self.encoder.name} has {len(losses) - penalties} losses that depend "
                "on activations (`activity_regularizer` or `add_loss`). GradCache cannot cache "
                "these losses. Regularize weights instead, or train the encoder without GradCache."
            )
        return embeddings, state

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "chunk": self.chunk,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        encoder = keras.saving.deserialize_keras_object(
            config["encoder"], custom_objects=custom_objects
        )
        return cls(**{**config, "encoder": encoder})


def _split_into_chunks(x, size, count):
    """Splits rows into `count` chunks. The result has the shape `(size, count, ...)`, so that
    `result[:, i]` is chunk i.

    If the number of rows is not a multiple of `count`, the last chunks repeat their last row. If
    rows are on several devices, each row stays on its device.
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
            "`encoder` must be a functional or sequential `keras.Model` with one input and one "
            f"output. Received {type(encoder).__name__} with {len(inputs)} inputs and "
            f"{len(outputs)} outputs. Begin the encoder with `keras.Input(shape)`. To train a "
            "classifier, wrap its encoder: "
            "`PrototypicalClassifier(GradCache(encoder, chunk), classes)`."
        )
