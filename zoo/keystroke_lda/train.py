"""Fits `keystroke_lda` in closed form. This model recognizes people by how they type a sentence.

The model computes quantiles and means of the times of key presses. Linear discriminants of these
statistics separate the people, and the two-covariance model scores several sentences. The model is
fitted to the people of the splits `train` and `validation`, and measured on the people of the split
`test`. To list the options, run `python -m zoo.keystroke_lda.train --help` from the checkout.
"""

import time

import typer

from zoo import keystrokes, recipe

examples = keystrokes.examples
CAPTION = (
    "The 549 people were not used to fit the model. The sixth sentence of each person is compared "
    "with the first five sentences of all people."
)


@recipe.command(steps=1)
def main(run):
    """Fits the model to the people of the splits `train` and `validation`, and measures it on the
    people of the split `test`.
    """
    typed, start = keystrokes.typists(keystrokes.KNOWN).people, time.monotonic()
    model = keystrokes.closed_form(typed)
    run.minutes = (time.monotonic() - start) / 60
    tested = keystrokes.typists(keystrokes.UNSEEN).people
    measured = keystrokes.measurement(model, tested)
    run.save(measured, CAPTION)
    if run.publishes:
        run.publish(
            model,
            keystrokes.synthetic_sentences(),
            measured,
            data={
                "train_subjects": sorted(set(typed.subjects), key=int),
                "test_subjects": sorted(set(tested.subjects), key=int),
            },
        )


if __name__ == "__main__":
    typer.run(main)
