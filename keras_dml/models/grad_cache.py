"""Gradient caching (GradCache), which trains on large batches in little memory."""

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

    A loss of pairs gains from large batches, but a plain training step stores the activations of
    all rows. In training this model embeds at most `chunk` rows at a time and stores only the
    embeddings. The loss uses the embeddings and labels of the whole batch, including pairs across
    chunks. The model stores the gradient of the loss with respect to the embeddings, embeds each
    chunk again and propagates the gradient to the weights. A step with `GradCache` costs one more
    pass through the encoder than a plain step. Except for rounding, the result equals a plain step
    on the large batch. The step needs memory for the activations of one chunk, for all embeddings
    and for the loss.

    In inference the model equals its encoder: the input, the output and the distance are the same.
    To publish a trained model, use `model.encoder`, which shares its weights with this model. The
    model trains with `fit` by any loss of `keras_dml.losses`, also on several devices, and with
    sample weights if the loss accepts sample weights. A `GradCache` model can be the encoder of
    `PrototypicalClassifier` and `PotatoNetwork`.

    There are `c = ceil(batch / chunk)` chunks. Chunk i holds the rows i, i + c, i + 2c, ..., so
    each chunk has rows of all classes if the batch is sorted by class. The batch size need not be a
    multiple of the number of chunks: a chunk with a missing row repeats another row, and the model
    drops the second embedding. The two passes draw the same dropout masks for a chunk, because the
    second pass starts from the same state as the first pass, including the random generators.
    Batch normalization normalizes each chunk and updates its statistics once per chunk. The step
    then equals the step of a network that normalizes each chunk separately. For the same step as
    with the large batch, set batch normalization layers to `trainable = False` before `compile`.

    Args:
        encoder: A functional or sequential `keras.Model` of one input and one output.
        chunk: Largest number of rows that the model embeds at once.

    Raises:
        TypeError: If `chunk` is not an integer.
        ValueError: If the encoder is not a functional or sequential model of one input and one
            output, or `chunk` is not positive. The first training step raises this error if the
            encoder has losses of activations, which cannot be cached.

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
        """Computes the embeddings of a chunk, and the state of the encoder after this chunk."""
        inputs, *mask = chunk
        mask = {"mask": mask[0]} if mask else {}
        embeddings, state, losses = self.encoder.stateless_call(
            weights, state, inputs, training=True, return_losses=True, **mask
        )
        penalties = sum(weight.regularizer is not None for weight in self.encoder.trainable_weights)
        if len(losses) > penalties:
            raise ValueError(
                f"The encoder {self.encoder.name} has {len(losses) - penalties} losses of its "
                "activations (`activity_regularizer` or `add_loss`). GradCache cannot cache losses "
                "of activations. Regularize weights instead, or train the encoder without "
                "GradCache."
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
    """Splits rows into `count` chunks, shape `(size, count, ...)`, with chunk i at `[:, i]`.

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
            "`encoder` must be a functional or sequential `keras.Model` of one input and one "
            f"output. Received {type(encoder).__name__} with {len(inputs)} inputs and "
            f"{len(outputs)} outputs. Begin the encoder with `keras.Input(shape)`. To train a "
            "classifier, wrap its encoder: "
            "`PrototypicalClassifier(GradCache(encoder, chunk), classes)`."
        )
