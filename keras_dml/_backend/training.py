"""Arguments of `train_step` on both backends."""

from keras_dml._backend import keras


def with_data(model, arguments, change):
    """Returns the arguments of a model's `train_step` with changed data.

    Args:
        model: Model. The change may read its weights and set its other variables.
        arguments: Arguments of `train_step`: the data, after the state on JAX.
        change: Function from data to data.
    """
    *state, data = arguments
    if not state:
        return (change(data),)
    ((trainable, non_trainable, *remaining),) = state
    variables = (*model.trainable_variables, *model.non_trainable_variables)
    mapping = list(zip(variables, (*trainable, *non_trainable), strict=True))
    with keras.StatelessScope(state_mapping=mapping) as scope:
        data = change(data)
    non_trainable = [
        scope.get_current_value(variable) for variable in model.non_trainable_variables
    ]
    return (trainable, non_trainable, *remaining), data
