"""Changes the data in the arguments of a model's method `train_step`. The arguments of this method
differ between TensorFlow and JAX.
"""

from keras_dml._backend import keras


def with_data(model, arguments, change):
    """Replaces the data in the arguments of a model's `train_step`.

    Args:
        model: Model that is trained. `change` may read the weights of the model and set other
            variables of the model.
        arguments: Arguments of `train_step`. On TensorFlow, the only argument is the data. On JAX,
            the arguments are the state and the data.
        change: Function that takes the data and returns the new data.
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
