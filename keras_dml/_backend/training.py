"""Arguments of `train_step` on each backend."""

from keras_dml._backend import keras


def with_data(model, arguments, change):
    """Arguments of a model's `train_step` with other data.

    Args:
        model: Model, whose weights the change may read and whose other variables it may set.
        arguments: Arguments of `train_step`: the data, after the state on JAX.
        change: Function from data to data.
    """
    *state, data = arguments
    if not state:
        return (change(data),)
    ((trainable, non_trainable, *others),) = state
    variables = (*model.trainable_variables, *model.non_trainable_variables)
    mapping = list(zip(variables, (*trainable, *non_trainable), strict=True))
    with keras.StatelessScope(state_mapping=mapping) as scope:
        data = change(data)
    non_trainable = [scope.get_current_value(one) for one in model.non_trainable_variables]
    return (trainable, non_trainable, *others), data
